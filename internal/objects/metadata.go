package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// WithMetadata returns an apply configuration with labels, an owner, and an Echo's common metadata. Entries that are already in the
// configuration or the labels take precedence.
func WithMetadata(configuration any, echo *v1.Echo, labels map[string]string, owner metav1.OwnerReference) (*unstructured.Unstructured,
	error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", configuration, err)
	}
	want := &unstructured.Unstructured{Object: object}
	SetMetadata(want, echo, labels, owner)
	return want, nil
}

// SetMetadata gives an object the same metadata as WithMetadata does.
func SetMetadata(object *unstructured.Unstructured, echo *v1.Echo, labels map[string]string, owner metav1.OwnerReference) {
	object.SetLabels(merged(CommonLabels(echo), labels))
	if annotations := merged(CommonAnnotations(echo), object.GetAnnotations()); len(annotations) > 0 {
		object.SetAnnotations(annotations)
	}
	object.SetOwnerReferences([]metav1.OwnerReference{owner})
}

// merged returns the entries of all maps. Later maps take precedence.
func merged(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, each := range all {
		maps.Copy(result, each)
	}
	return result
}

// AddDigest annotates an object with a digest of its applied configuration. Pods are immutable, so a companion with another digest is
// replaced.
func AddDigest(want *unstructured.Unstructured) error {
	text, err := json.Marshal(want.Object)
	if err != nil {
		return fmt.Errorf("writing %s: %w", want.GetKind(), err)
	}
	digest := sha256.Sum256(text)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1.AppliedHashAnnotation] = hex.EncodeToString(digest[:8])
	want.SetAnnotations(annotations)
	return nil
}

// AsConfiguration converts a part of an API object to an apply configuration. The part and its configuration have the same JSON form.
func AsConfiguration[T any](part any) *T {
	configuration := new(T)
	text, err := json.Marshal(part)
	if err == nil {
		err = json.Unmarshal(text, configuration)
	}
	if err != nil {
		panic(fmt.Errorf("reading %T as %T: %w", part, configuration, err)) // a bug: both types belong to the same API
	}
	return configuration
}

// ChildOwnerReference returns the reference that makes an Echo the controller of an object. The Echo's finalizer keeps the Echo until the
// object is deleted.
func ChildOwnerReference(echo *v1.Echo) metav1.OwnerReference {
	return controllerReference(echo, v1.GroupVersion.WithKind("Echo"))
}

// CompanionOwnerReference returns the reference that makes a pod the controller of its companion. The pod's deletion does not wait for the
// companion.
func CompanionOwnerReference(pod *corev1.Pod) metav1.OwnerReference {
	return controllerReference(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
}

// controllerReference returns a reference that does not block the deletion of the owner. For a reference that blocks deletion, the
// OwnerReferencesPermissionEnforcement admission plugin requires permission to update the owner's finalizers. The plugin can take up to
// 30 s to learn about the owner's kind after the kind's CustomResourceDefinition is installed.
func controllerReference(owner metav1.Object, kind schema.GroupVersionKind) metav1.OwnerReference {
	reference := *metav1.NewControllerRef(owner, kind)
	reference.BlockOwnerDeletion = new(false)
	return reference
}

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
