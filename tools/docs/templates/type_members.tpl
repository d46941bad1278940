{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}the usual; the name is also that of the Service
{{- else -}}{{ markdownRenderFieldDoc .Doc }}{{- end -}}
{{- end -}}
