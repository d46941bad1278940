{{- define "type" -}}
{{- if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}{{ range .SortedReferences }} Part of {{ markdownRenderTypeLink . }}.{{ end }}{{ template "rules" . }}
{{ if .Members }}
| field | type | default | description | validation |
|---|---|---|---|---|
{{ range .Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ markdownRenderDefault .Default }} | {{ template "type_members" . }} | {{ range .Validation }}{{ if eq . "Required: {}" }}required<br />{{ else if ne . "Optional: {}" }}{{ regexReplaceAll "^([^\x60]*)\x60(.*\x60.*)\x60$" (markdownRenderFieldDoc .) "${1}\x60\x60 ${2} \x60\x60" }}<br />{{ end }}{{ end }}{{ if not (hasPrefix "[Echo" (markdownRenderType .Type)) }}{{ template "rules" . }}{{ end }} |
{{ end }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "rules" -}}
{{- range index .Markers "kubebuilder:validation:XValidation" }} {{ markdownRenderFieldDoc .Message }}{{ end -}}
{{- end -}}
