package children

import (
	"strconv"
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// URL returns the address of the echo servers: that of the Ingress if there is one, and otherwise that of the Service.
func URL(echo *v1.Echo) string {
	if hasIngress(echo) {
		return ingressURL(echo.Spec.Ingress)
	}
	url := "http://" + echo.Name + "." + echo.Namespace + ".svc"
	if port := echo.Spec.Service.Port; port != 80 {
		url += ":" + strconv.Itoa(int(port))
	}
	return url
}

func ingressURL(ingress *v1.EchoIngress) string {
	scheme := "http"
	if ingress.TLS {
		scheme = "https"
	}
	return scheme + "://" + ingress.Host + strings.TrimSuffix(ingressPath(ingress), "/")
}
