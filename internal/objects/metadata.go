package objects

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// withMetadata returns an apply configuration with labels, an owner, and an Echo's common metadata. Entries that are already in the
// configuration or the labels take precedence.
func withMetadata(configuration any, echo *v1.Echo, labels map[string]string, owner metav1.OwnerReference) (*unstructured.Unstructured,
	error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", configuration, err)
	}
	want := &unstructured.Unstructured{Object: object}
	setMetadata(want, echo, labels, owner)
	return want, nil
}

// setMetadata gives an object the same metadata as withMetadata does.
func setMetadata(object *unstructured.Unstructured, echo *v1.Echo, labels map[string]string, owner metav1.OwnerReference) {
	object.SetLabels(merged(commonLabels(echo), labels))
	if annotations := merged(commonAnnotations(echo), object.GetAnnotations()); len(annotations) > 0 {
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

// addDigest annotates an object with a digest of its applied configuration. A companion with another digest is replaced.
func addDigest(want *unstructured.Unstructured) error {
	text, err := json.Marshal(want.Object)
	if err != nil {
		return fmt.Errorf("writing %s: %w", want.GetKind(), err)
	}
	want.SetAnnotations(merged(want.GetAnnotations(), map[string]string{v1.AppliedHashAnnotation: shortDigest(text)}))
	return nil
}

func shortDigest(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8])
}

// asConfiguration converts a part of an API object to an apply configuration. The part and its configuration have the same JSON form.
func asConfiguration[T any](part any) *T {
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

// asConfigurations converts a list of parts of an API object to apply configurations.
func asConfigurations[T, P any](parts []P) []*T { return *asConfiguration[[]*T](parts) }

// childOwnerReference returns the reference that makes an Echo the controller of an object. The Echo's finalizer keeps the Echo until the
// object is deleted.
func childOwnerReference(echo *v1.Echo) metav1.OwnerReference {
	return controllerReference(echo, v1.GroupVersion.WithKind("Echo"))
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

	nameValue      = "echo"
	componentValue = "echo-server"

	companionNameValue      = "echo-companion"
	companionComponentValue = "companion"
)

// SelectorLabels returns the labels that select an Echo's pods. These labels never change, because a Deployment's selector is immutable.
func SelectorLabels(echo *v1.Echo) map[string]string {
	return merged(InstanceLabels(echo), map[string]string{LabelName: nameValue})
}

// childLabels returns the labels that all of an Echo's children and pods have.
func childLabels(echo *v1.Echo) map[string]string {
	return merged(SelectorLabels(echo), map[string]string{LabelComponent: componentValue})
}

// companionLabels returns the labels of an Echo's companions. Neither the Echo's Service nor its Deployment selects companions.
func companionLabels(echo *v1.Echo) map[string]string {
	return merged(InstanceLabels(echo), map[string]string{LabelName: companionNameValue, LabelComponent: companionComponentValue})
}

// commonLabels returns the labels that an Echo gives to all of its objects and pods.
func commonLabels(echo *v1.Echo) map[string]string {
	return asLabels(cmp.Or(echo.Spec.CommonMetadata, &v1.CommonMetadata{}).Labels)
}

// asLabels converts labels from the Echo API to Kubernetes labels.
func asLabels(given v1.Labels) map[string]string {
	labels := make(map[string]string, len(given))
	for key, value := range given {
		labels[key] = string(value)
	}
	return labels
}

// commonAnnotations returns the annotations that an Echo gives to all of its objects and pods.
func commonAnnotations(echo *v1.Echo) map[string]string {
	return cmp.Or(echo.Spec.CommonMetadata, &v1.CommonMetadata{}).Annotations
}

// InstanceLabels returns the labels that all pods of an Echo have, including companions and checks. Every selector includes both labels,
// because charts for other echo servers set the same name and instance. SplitPods omits the pods of checks.
func InstanceLabels(echo *v1.Echo) map[string]string {
	return map[string]string{LabelInstance: echo.Name, LabelManagedBy: FieldOwner}
}

// EchoOf returns the name of the Echo in a pod's labels, or an empty string if the labels name none.
func EchoOf(pod client.Object) string { return pod.GetLabels()[LabelInstance] }

// ManagedSelector selects everything that the operator creates, and nothing else.
func ManagedSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{LabelManagedBy: FieldOwner})
}

// IsOwnEntry reports whether an entry in the managed fields of an object lists the fields that the operator applied.
func IsOwnEntry(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// AppliedAt returns the time at which the operator last changed an object, or, if that time is not known, the object's creation time.
func AppliedAt(object client.Object) time.Time {
	for _, entry := range object.GetManagedFields() {
		if IsOwnEntry(entry) && entry.Time != nil {
			return entry.Time.Time
		}
	}
	return object.GetCreationTimestamp().Time
}
