{{- define "echo-operator.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/name: echo-operator
{{- end }}

{{- define "echo-operator.selector" -}}
app.kubernetes.io/name: echo-operator
control-plane: controller-manager
{{- end }}

{{- /* An image, of the chart and an image in its values: a mirror replaces only the registry that contains the default images. */ -}}
{{- define "echo-operator.image" -}}
{{- $image := index . 1 -}}
{{- with (index . 0).Values.imageRegistry -}}
{{- $image = regexReplaceAll "^quay\\.io/" $image (print . "/") -}}
{{- end -}}
{{- $image -}}
{{- end }}

{{- /* The value affinity or its default, with the supported nodes: each term of a node affinity is an alternative, so each contains them. */ -}}
{{- define "echo-operator.affinity" -}}
{{- $required := "requiredDuringSchedulingIgnoredDuringExecution" -}}
{{- $affinity := .Values.affinity | default (include "echo-operator.default-affinity" . | fromYaml) | deepCopy -}}
{{- $node := $affinity.nodeAffinity | default dict -}}
{{- $terms := list -}}
{{- range (get $node $required | default dict).nodeSelectorTerms | default (list dict) -}}
{{- $supported := include "echo-operator.supported-nodes" $ | fromYamlArray -}}
{{- $terms = append $terms (set . "matchExpressions" (concat (.matchExpressions | default list) $supported)) -}}
{{- end -}}
{{- set $affinity "nodeAffinity" (set $node $required (dict "nodeSelectorTerms" $terms)) | toYaml -}}
{{- end }}

{{- define "echo-operator.supported-nodes" -}}
- key: kubernetes.io/arch
  operator: In
  values: [amd64, arm64, ppc64le, s390x]
- key: kubernetes.io/os
  operator: In
  values: [linux]
{{- end }}

{{- define "echo-operator.default-affinity" -}}
nodeAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - preference:
      matchExpressions:
      - key: node-role.kubernetes.io/infra
        operator: Exists
    weight: 1
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - podAffinityTerm:
      labelSelector:
        matchLabels:
          {{- include "echo-operator.selector" . | nindent 10 }}
      topologyKey: kubernetes.io/hostname
    weight: 1
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
