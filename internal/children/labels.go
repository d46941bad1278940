package children

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// InstanceLabels returns the labels by which the pods and companions of an Echo are listed together. Pods of others may have them,
// too: SplitPods leaves those out.
func InstanceLabels(echo *v1.Echo) map[string]string {
	return map[string]string{labelInstance: echo.Name, labelManagedBy: FieldOwner}
}

// EchoOf returns the name of the Echo that a pod or companion belongs to by its labels, empty if none.
func EchoOf(pod client.Object) string { return pod.GetLabels()[labelInstance] }

// IsManaged reports whether an object has the label by which the operator watches what it creates.
func IsManaged(object client.Object) bool { return object.GetLabels()[labelManagedBy] == FieldOwner }

// ManagedSelector selects everything that the operator creates, and nothing else.
func ManagedSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{labelManagedBy: FieldOwner})
}
