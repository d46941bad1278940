package controllers

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestTransitions(t *testing.T) {
	status := func(ready metav1.ConditionStatus, reason string) *v1.EchoStatus {
		s := &v1.EchoStatus{}
		record(s, verdict{ready: ready, progressing: no, degraded: no, readyReason: reason, progressingReason: "R", degradedReason: "R"}, 1, time.Now())
		return s
	}
	deployment := func(replicas int32, image string) *appsv1.Deployment {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}}}
	}
	for name, c := range map[string]struct {
		before, after *v1.EchoStatus
		changes       []change
		want          []string
	}{
		"nothing":            {status(yes, "A"), status(yes, "A"), nil, nil},
		"first status":       {&v1.EchoStatus{}, status(no, v1.ReasonRollingOut), nil, nil},
		"made":               {&v1.EchoStatus{}, status(no, v1.ReasonRollingOut), []change{{nil, &corev1.Service{}}, {nil, deployment(2, "a")}}, []string{"Deployed"}},
		"scaled":             {status(yes, "A"), status(yes, "A"), []change{{deployment(2, "a"), deployment(3, "a")}}, []string{"Scaled"}},
		"scaled down":        {status(yes, "A"), status(yes, "A"), []change{{deployment(3, "a"), deployment(1, "a")}}, []string{"Scaled"}},
		"updated":            {status(yes, "A"), status(yes, "A"), []change{{deployment(2, "a"), deployment(2, "b")}}, []string{"Updated"}},
		"both":               {status(yes, "A"), status(no, v1.ReasonRollingOut), []change{{deployment(2, "a"), deployment(3, "b")}}, []string{"Scaled", "Updated", "NotReady"}},
		"corrected a label":  {status(yes, "A"), status(yes, "A"), []change{{deployment(2, "a"), deployment(2, "a")}}, nil},
		"ready":              {status(no, v1.ReasonRollingOut), status(yes, "A"), nil, []string{"Ready"}},
		"ready at once":      {&v1.EchoStatus{}, status(yes, "A"), nil, []string{"Ready"}},
		"other kind of well": {status(yes, "A"), status(yes, v1.ReasonScaledToZero), nil, nil},
		"not ready":          {status(yes, "A"), status(no, v1.ReasonPodsNotReady), nil, []string{"NotReady!"}},
		"still not ready":    {status(no, v1.ReasonRollingOut), status(no, v1.ReasonPodsNotReady), nil, nil},
		"a cause was found":  {status(no, v1.ReasonRollingOut), status(no, v1.ReasonImagePullFailed), nil, []string{"NotReady!"}},
		"another cause":      {status(no, v1.ReasonImagePullFailed), status(no, v1.ReasonPodsCrashing), nil, []string{"NotReady!"}},
		"the same cause":     {status(no, v1.ReasonPodsCrashing), status(no, v1.ReasonPodsCrashing), nil, nil},
		"the cause is gone":  {status(no, v1.ReasonPodsCrashing), status(no, v1.ReasonRollingOut), nil, nil},
		"invalid":            {status(yes, "A"), status(no, v1.ReasonInvalidSpec), nil, []string{"InvalidSpec!"}},
		"still invalid":      {status(no, v1.ReasonInvalidSpec), status(no, v1.ReasonInvalidSpec), nil, nil},
		"name taken":         {&v1.EchoStatus{}, status(no, v1.ReasonNameConflict), nil, []string{"NameConflict!"}},
		"deleted":            {status(yes, "A"), status(no, v1.ReasonDeleting), nil, []string{"DeleteRequested"}},
		"being deleted":      {status(no, v1.ReasonDeleting), status(no, v1.ReasonDeleting), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range transitions(c.before, c.after, observation{changes: c.changes}) {
				got = append(got, n.reason)
				if n.eventType == corev1.EventTypeWarning {
					got[len(got)-1] += "!"
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
