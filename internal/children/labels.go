package children

import (
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// FieldOwner is the field manager of everything that the operator applies, and the value of the label managed-by.
const FieldOwner = "echo-operator"

const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"

	nameValue      = "echo"
	componentValue = "echo-server"

	companionNameValue      = "echo-companion"
	companionComponentValue = "companion"
)

// SelectorLabels returns the labels that select the pods of an Echo. They never change, because the selector of a Deployment is
// immutable.
func SelectorLabels(echo *v1.Echo) map[string]string {
	return map[string]string{labelName: nameValue, labelInstance: echo.Name}
}

// childLabels returns the labels of all children of an Echo and of its pods.
func childLabels(echo *v1.Echo) map[string]string {
	return map[string]string{
		labelName:      nameValue,
		labelInstance:  echo.Name,
		labelComponent: componentValue,
		labelManagedBy: FieldOwner,
	}
}

// companionLabels returns the labels of the companions of an Echo. Neither its Service nor its Deployment selects them.
func companionLabels(echo *v1.Echo) map[string]string {
	return map[string]string{
		labelName:      companionNameValue,
		labelInstance:  echo.Name,
		labelComponent: companionComponentValue,
		labelManagedBy: FieldOwner,
	}
}

// ManagedSelector selects everything that the operator creates, and nothing else.
func ManagedSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{labelManagedBy: FieldOwner})
}
