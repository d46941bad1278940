package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// child is one object that an Echo is made of, or is not.
type child struct {
	kind string
	key  client.ObjectKey
	// blank makes an empty object of the child's type to read into.
	blank func() client.Object
	// want is what the operator decides of the object, and nothing else; nil when there should be none.
	want *unstructured.Unstructured
}

// ChildKinds are the types that an Echo is made of, in the order in which they are made.
func ChildKinds() []client.Object {
	return []client.Object{
		&corev1.Service{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &networkingv1.Ingress{}, &networkingv1.NetworkPolicy{},
	}
}

// children are the objects that an Echo is made of. An error is a defect of the operator: everything in a valid Echo can be
// expressed.
func children(echo *v1.Echo, images Images) ([]child, error) {
	all := make([]child, 0, len(ChildKinds()))
	for _, kind := range ChildKinds() {
		c := child{
			kind:  reflect.TypeOf(kind).Elem().Name(),
			key:   client.ObjectKeyFromObject(echo),
			blank: func() client.Object { return kind.DeepCopyObject().(client.Object) },
		}
		configuration := configurationOf(kind, echo, images)
		if !reflect.ValueOf(configuration).IsNil() {
			want, err := sealed(configuration)
			if err != nil {
				return nil, err
			}
			c.want = want
		}
		all = append(all, c)
	}
	return all, nil
}

// configurationOf is what is wanted of the child of a kind, a nil pointer when there should be none.
func configurationOf(kind client.Object, echo *v1.Echo, images Images) any {
	switch kind.(type) {
	case *corev1.Service:
		return service(echo)
	case *appsv1.Deployment:
		return deployment(echo, images)
	case *policyv1.PodDisruptionBudget:
		return disruptionBudget(echo)
	case *networkingv1.Ingress:
		return ingress(echo)
	default:
		return networkPolicy(echo)
	}
}

// sealed is an apply configuration with a digest of itself.
func sealed(configuration any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(configuration)
	if err != nil {
		return nil, fmt.Errorf("writing %T: %w", configuration, err)
	}
	want := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &want.Object); err != nil {
		return nil, fmt.Errorf("reading %T back: %w", configuration, err)
	}
	digest := sha256.Sum256(text)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1.AppliedHashAnnotation] = hex.EncodeToString(digest[:8])
	want.SetAnnotations(annotations)
	return want, nil
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
