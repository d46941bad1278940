package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestSeeKeepsTheLatestDeployment(t *testing.T) {
	seen, older, newer := Observation{}, &appsv1.Deployment{}, &appsv1.Deployment{}
	seen.See(&corev1.Service{})
	if seen.Deployment != nil {
		t.Errorf("a Service was taken for the Deployment %+v", seen.Deployment)
	}
	seen.See(nil) // a child that does not exist
	if seen.Deployment != nil {
		t.Errorf("no object was taken for the Deployment %+v", seen.Deployment)
	}
	seen.See(older)
	seen.See(newer) // as the API server answered when it was applied
	seen.See(&corev1.Service{})
	if seen.Deployment != newer {
		t.Errorf("got %p, want %p", seen.Deployment, newer)
	}
}
