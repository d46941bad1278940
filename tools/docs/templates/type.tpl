{{- define "type" -}}
{{- if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}{{ range .SortedReferences }} Part of {{ markdownRenderTypeLink . }}.{{ end }}
{{ if .Members }}
| field | type | default | what it is | rules |
|---|---|---|---|---|
{{ range .Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ markdownRenderDefault .Default }} | {{ template "type_members" . }} | {{ range .Validation }}{{ if eq . "Required: {}" }}required<br />{{ else if ne . "Optional: {}" }}{{ markdownRenderFieldDoc . }}<br />{{ end }}{{ end }} |
{{ end }}
{{- end }}
{{- end -}}
{{- end -}}
