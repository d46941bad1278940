{{- define "gvList" -}}
<!-- Generated from api/v1 by `make generate`. -->
# The Echo API

All fields of an Echo. [echo.md](echo.md) describes what the operator does with them. `kubectl explain echo.spec` prints the descriptions in a terminal.
{{ range . }}{{ template "gvDetails" . }}{{ end }}
{{- end -}}
