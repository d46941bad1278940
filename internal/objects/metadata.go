package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

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
