package children

import v1 "github.com/echo-operator/echo-operator/api/v1"

// HasTLS reports whether the echo servers of an Echo serve HTTPS.
func HasTLS(spec *v1.EchoSpec) bool { return spec.TLS != nil && spec.TLS.SecretName != "" }

// HasIngress reports whether an Echo has an Ingress.
func HasIngress(echo *v1.Echo) bool { return echo.Spec.Ingress != nil && echo.Spec.Ingress.Enabled }

// HasGateway reports whether an Echo has Gateway API routes.
func HasGateway(echo *v1.Echo) bool { return echo.Spec.Gateway != nil && echo.Spec.Gateway.Enabled }
