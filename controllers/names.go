package controllers

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// fieldOwner is the field manager under which everything is applied.
	fieldOwner = "echo-operator"

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"

	nameValue      = "echo"
	componentValue = "echo-server"

	companionNameValue      = "echo-companion"
	companionComponentValue = "companion"

	containerName = "echo"
	portName      = "http"

	metricsPortName = "metrics"
)

// selectorLabels find the pods of an Echo. A Deployment's selector is immutable, so these never change.
func selectorLabels(echo *v1.Echo) map[string]string {
	return map[string]string{labelName: nameValue, labelInstance: echo.Name}
}

// childLabels are on everything made for an Echo.
func childLabels(echo *v1.Echo) map[string]string {
	return map[string]string{
		labelName:      nameValue,
		labelInstance:  echo.Name,
		labelComponent: componentValue,
		labelManagedBy: fieldOwner,
	}
}

// companionLabels are on the companions that are made from an Echo: neither its Service nor its Deployment takes them for its own.
func companionLabels(echo string) map[string]string {
	return map[string]string{
		labelName:      companionNameValue,
		labelInstance:  echo,
		labelComponent: companionComponentValue,
		labelManagedBy: fieldOwner,
	}
}

// ManagedSelector selects everything that the operator made, and no more.
func ManagedSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{labelManagedBy: fieldOwner})
}

// urlOf is where the echo servers answer: outside the cluster if there is an Ingress, else inside.
func urlOf(echo *v1.Echo) string {
	if hasIngress(echo) {
		outside, scheme := echo.Spec.Ingress, "http"
		if outside.TLS {
			scheme = "https"
		}
		return scheme + "://" + outside.Host + strings.TrimSuffix(ingressPath(outside), "/")
	}
	url := "http://" + echo.Name + "." + echo.Namespace + ".svc"
	if port := echo.Spec.Service.Port; port != 80 {
		url += ":" + strconv.Itoa(int(port))
	}
	return url
}
