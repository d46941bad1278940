package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// child is one object that an Echo is made of.
type child struct {
	// want is what the operator decides of the object, and nothing else.
	want *unstructured.Unstructured
	// blank makes an empty object of the child's type to read into.
	blank func() client.Object
}

// childKinds are the types that an Echo is made of.
func childKinds() []client.Object {
	return []client.Object{&corev1.Service{}, &appsv1.Deployment{}}
}

// children are the objects that an Echo is made of, in the order in which they are made. An error is a defect of the
// operator: everything in a valid Echo can be expressed.
func children(echo *v1.Echo, images Images) ([]child, error) {
	service, err := newChild(service(echo), func() client.Object { return &corev1.Service{} })
	if err != nil {
		return nil, err
	}
	deployment, err := newChild(deployment(echo, images), func() client.Object { return &appsv1.Deployment{} })
	if err != nil {
		return nil, err
	}
	return []child{service, deployment}, nil
}

// newChild takes an apply configuration and seals it with a digest of itself.
func newChild(configuration any, blank func() client.Object) (child, error) {
	text, err := json.Marshal(configuration)
	if err != nil {
		return child{}, fmt.Errorf("writing %T: %w", configuration, err)
	}
	want := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &want.Object); err != nil {
		return child{}, fmt.Errorf("reading %T back: %w", configuration, err)
	}
	digest := sha256.Sum256(text)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1.AppliedHashAnnotation] = hex.EncodeToString(digest[:8])
	want.SetAnnotations(annotations)
	return child{want: want, blank: blank}, nil
}

// ownedBy makes an Echo the controller of what it is put on. The owner's deletion waits for it.
func ownedBy(echo *v1.Echo) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1.GroupVersion.String()).
		WithKind("Echo").
		WithName(echo.Name).
		WithUID(echo.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
