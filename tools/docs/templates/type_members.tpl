{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}The standard object metadata. The objects of the Echo have the same name.
{{- else -}}{{ markdownRenderFieldDoc .Doc }}{{- end -}}
{{- end -}}
