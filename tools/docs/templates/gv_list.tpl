{{- define "gvList" -}}
<!-- Generated from api/v1 by `make generate`. -->
# The Echo API

Every field of an Echo. [echo.md](echo.md) has what they bring about; `kubectl explain echo.spec` shows the same in a terminal.
{{ range . }}{{ template "gvDetails" . }}{{ end }}
{{- end -}}
