package status

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestRecord_keepsLatestDeployment(t *testing.T) {
	g := NewWithT(t)
	seen, older, newer := Observation{}, &appsv1.Deployment{}, &appsv1.Deployment{}
	seen.Record(&corev1.Service{})
	g.Expect(seen.Deployment).To(BeNil())
	seen.Record(nil) // a child that does not exist
	g.Expect(seen.Deployment).To(BeNil())
	seen.Record(older)
	seen.Record(newer) // as in the API server's response to the apply request
	seen.Record(&corev1.Service{})
	if seen.Deployment != newer {
		t.Errorf("got %p, want %p", seen.Deployment, newer)
	}
}
