{{- define "echo-operator.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/name: echo-operator
{{- end }}

{{- define "echo-operator.subjects" -}}
- kind: ServiceAccount
  name: echo-operator-controller-manager
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- /* The value of an environment variable: a reference to a Secret or a ConfigMap, a text, a number, or a boolean. */ -}}
{{- define "echo-operator.value" -}}
{{- if kindIs "map" . -}}
valueFrom: {{ toJson . }}
{{- else -}}
value: {{ kindIs "string" . | ternary . (toJson .) | quote }}
{{- end }}
{{- end }}
