package testbed

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHasWork(t *testing.T) {
	now := metav1.Now()
	for name, c := range map[string]struct {
		phase   corev1.PodPhase
		deleted *metav1.Time
		want    bool
	}{
		"new":                        {corev1.PodPending, nil, true},
		"running":                    {corev1.PodRunning, nil, false},
		"running, being deleted":     {corev1.PodRunning, &now, true},
		"not started, being deleted": {corev1.PodPending, &now, true},
		"ended":                      {corev1.PodSucceeded, nil, false},
		"ended, being deleted":       {corev1.PodFailed, &now, true},
	} {
		pod := &corev1.Pod{DeletionTimestamp: c.deleted, Status: corev1.PodStatus{Phase: c.phase}}
		if got := hasWork(pod); got != c.want {
			t.Errorf("%s: %t, not %t", name, got, c.want)
		}
	}
}
