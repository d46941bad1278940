package packed

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// part is a part of an object that can be written as bytes and read from them.
type part interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// parts are the parts of an object. Those who pack and unpack it use the same ones.
type parts struct {
	metadata     *metav1.ObjectMeta
	spec, status part
}

// partsOf returns the parts of an object, none if objects of its kind are not packed.
func partsOf(object any) parts {
	switch o := object.(type) {
	case *v1.Echo:
		return parts{&o.ObjectMeta, inJSON{&o.Spec}, inJSON{&o.Status}}
	case *appsv1.Deployment:
		return parts{&o.ObjectMeta, &o.Spec, &o.Status}
	case *corev1.Service:
		return parts{&o.ObjectMeta, &o.Spec, &o.Status}
	case *networkingv1.Ingress:
		return parts{&o.ObjectMeta, &o.Spec, &o.Status}
	case *networkingv1.NetworkPolicy:
		return parts{&o.ObjectMeta, &o.Spec, nothing{}}
	case *policyv1.PodDisruptionBudget:
		return parts{&o.ObjectMeta, &o.Spec, &o.Status}
	}
	return parts{}
}

// inJSON is a part that has no other format.
type inJSON struct{ value any }

func (p inJSON) Marshal() ([]byte, error)    { return json.Marshal(p.value) }
func (p inJSON) Unmarshal(text []byte) error { return json.Unmarshal(text, p.value) }

// nothing is a part that a kind does not have.
type nothing struct{}

func (nothing) Marshal() ([]byte, error) { return nil, nil }
func (nothing) Unmarshal([]byte) error   { return nil }
