package objects

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// FieldOwner is the field manager of everything that the operator applies, and the value of the managed-by label.
const FieldOwner = "echo-operator"

const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	NameValue      = "echo"
	ComponentValue = "echo-server"

	CompanionNameValue      = "echo-companion"
	CompanionComponentValue = "companion"
)

// SelectorLabels returns the labels that select an Echo's pods. These labels never change, because a Deployment's selector is immutable.
func SelectorLabels(echo *v1.Echo) map[string]string {
	return map[string]string{LabelName: NameValue, LabelInstance: echo.Name}
}

// ChildLabels returns the labels that all of an Echo's children and pods have.
func ChildLabels(echo *v1.Echo) map[string]string {
	return map[string]string{
		LabelName:      NameValue,
		LabelInstance:  echo.Name,
		LabelComponent: ComponentValue,
		LabelManagedBy: FieldOwner,
	}
}

// CompanionLabels returns the labels of an Echo's companions. Neither the Echo's Service nor its Deployment selects companions.
func CompanionLabels(echo *v1.Echo) map[string]string {
	return map[string]string{
		LabelName:      CompanionNameValue,
		LabelInstance:  echo.Name,
		LabelComponent: CompanionComponentValue,
		LabelManagedBy: FieldOwner,
	}
}

// CommonLabels returns the labels that an Echo gives to all of its objects and pods.
func CommonLabels(echo *v1.Echo) map[string]string {
	if echo.Spec.CommonMetadata == nil {
		return nil
	}
	return AsLabels(echo.Spec.CommonMetadata.Labels)
}

// AsLabels converts labels from the Echo API to Kubernetes labels.
func AsLabels(given v1.Labels) map[string]string {
	labels := make(map[string]string, len(given))
	for key, value := range given {
		labels[key] = string(value)
	}
	return labels
}

// CommonAnnotations returns the annotations that an Echo gives to all of its objects and pods.
func CommonAnnotations(echo *v1.Echo) map[string]string {
	if echo.Spec.CommonMetadata == nil {
		return nil
	}
	return echo.Spec.CommonMetadata.Annotations
}

// InstanceLabels returns the labels that select both an Echo's pods and its companions. SplitPods omits other pods with these labels.
func InstanceLabels(echo *v1.Echo) map[string]string {
	return map[string]string{LabelInstance: echo.Name, LabelManagedBy: FieldOwner}
}

// EchoOf returns the name of the Echo in a pod's labels, or an empty string if the labels name none.
func EchoOf(pod client.Object) string { return pod.GetLabels()[LabelInstance] }

// IsManaged reports whether an object has the label that the operator's watches select.
func IsManaged(object client.Object) bool { return object.GetLabels()[LabelManagedBy] == FieldOwner }

// ManagedSelector selects everything that the operator creates, and nothing else.
func ManagedSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{LabelManagedBy: FieldOwner})
}
