package status

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

func TestTransitions(t *testing.T) {
	// status returns the outcome of a reconcile. A nil outcome means that there was no earlier reconcile.
	status := func(ready metav1.ConditionStatus, reason v1.Reason, event v1.Reason) *outcome {
		return &outcome{ready: ready, progressing: no, degraded: no, readyReason: reason, progressingReason: other, degradedReason: other,
			event: event, final: reason == v1.ReasonDeleting}
	}
	well, rolling := status(yes, v1.ReasonAllPodsReady, v1.EventReady), status(no, v1.ReasonRollingOut, v1.EventRolloutStarted)
	down := func(reason v1.Reason) *outcome { return status(no, reason, v1.EventNotReady) }
	lasting := func(reason v1.Reason) *outcome {
		v := down(reason)
		v.degraded, v.degradedReason = yes, reason
		return v
	}
	unrouted := down(v1.ReasonContainerNotStarted)
	unrouted.degraded, unrouted.degradedReason = yes, v1.ReasonRouteNotAccepted
	overdue := down(v1.ReasonPodsCrashing)
	overdue.degraded, overdue.degradedReason = yes, v1.ReasonProgressDeadlineExceeded
	refused := func(reason v1.Reason) *outcome { return status(no, reason, reason) }
	zero, deleting := status(yes, v1.ReasonScaledToZero, v1.EventReady), status(no, v1.ReasonDeleting, v1.EventDeleteRequested)
	for name, c := range map[string]struct {
		before, after *outcome
		want          []string
	}{
		"nothing":                  {well, well, nil},
		"first status":             {nil, rolling, nil},
		"ready":                    {rolling, well, []string{"Ready"}},
		"ready at once":            {nil, well, []string{"Ready"}},
		"scaled to zero":           {well, zero, nil},
		"not ready":                {well, down(v1.ReasonPodsNotReady), []string{"NotReady!"}},
		"still not ready":          {rolling, down(v1.ReasonPodsNotReady), nil},
		"a cause was found":        {rolling, down(v1.ReasonImagePullFailed), []string{"NotReady!"}},
		"another cause":            {down(v1.ReasonImagePullFailed), down(v1.ReasonPodsCrashing), []string{"NotReady!"}},
		"the same cause":           {down(v1.ReasonPodsCrashing), down(v1.ReasonPodsCrashing), nil},
		"the cause is gone":        {down(v1.ReasonPodsCrashing), rolling, nil},
		"the cause lasts":          {down(v1.ReasonContainerNotStarted), lasting(v1.ReasonContainerNotStarted), []string{"NotReady!"}},
		"it lasts, without routes": {unrouted, lasting(v1.ReasonContainerNotStarted), []string{"NotReady!"}},
		"it lasts on":              {lasting(v1.ReasonContainerNotStarted), lasting(v1.ReasonContainerNotStarted), nil},
		"a node fails":             {well, down(v1.ReasonNodeProblem), []string{"NotReady!"}},
		"the cause is a node":      {rolling, down(v1.ReasonNodeProblem), nil}, // its own event reports the node
		"the node stays away":      {down(v1.ReasonNodeProblem), lasting(v1.ReasonNodeProblem), nil},
		"it is overdue":            {down(v1.ReasonPodsCrashing), overdue, nil},
		"invalid":                  {well, refused(v1.ReasonInvalidSpec), []string{"InvalidSpec!"}},
		"still invalid":            {refused(v1.ReasonInvalidSpec), refused(v1.ReasonInvalidSpec), nil},
		"name taken":               {nil, refused(v1.ReasonNameConflict), []string{"NameConflict!"}},
		"deleted":                  {well, deleting, []string{"DeleteRequested"}},
		"deleted early":            {rolling, deleting, []string{"DeleteRequested"}},
		"being deleted":            {deleting, deleting, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &v1.EchoStatus{}, &v1.EchoStatus{}
			if c.before != nil {
				record(before, *c.before, 1, time.Now())
			}
			record(after, *c.after, 1, time.Now())
			var got []string
			for _, n := range transitions(before, after, *c.after, Observation{}) {
				got = append(got, n.Reason.String())
				if n.Reason.EventType() == corev1.EventTypeWarning {
					got[len(got)-1] += "!"
				}
			}
			NewWithT(t).Expect(got).To(HaveExactElements(c.want))
		})
	}
}

func TestWritten(t *testing.T) {
	deployment := func(replicas int32, image string) *appsv1.Deployment {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}}}
	}
	for name, c := range map[string]struct {
		was, is client.Object
		want    []string
	}{
		"created":           {nil, deployment(2, "a"), []string{"Deployed"}},
		"scaled":            {deployment(2, "a"), deployment(3, "a"), []string{"Scaled"}},
		"updated":           {deployment(2, "a"), deployment(2, "b"), []string{"Updated"}},
		"both":              {deployment(2, "a"), deployment(3, "b"), []string{"Scaled", "Updated"}},
		"corrected a label": {deployment(2, "a"), deployment(2, "a"), nil},
		"another kind":      {nil, &corev1.Service{}, nil},
		"deleted":           {deployment(2, "a"), nil, nil},
	} {
		var got []string
		for _, transition := range Written(c.was, c.is) {
			got = append(got, transition.Reason.String())
		}
		NewWithT(t).Expect(got).To(HaveExactElements(c.want), name)
	}
}

func TestCompanionNotCreated_advisesOnServiceAccount(t *testing.T) {
	for words, advice := range map[string]string{
		`error looking up service account ns/mesh: serviceaccount "mesh" not found`:       adviceOnServiceAccount,
		`error looking up service account ns/default: serviceaccount "default" not found`: "Change the Echo accordingly, or ask a cluster administrator.",
	} {
		err := &objects.RequestError{Action: "applied", Kind: "Pod", Key: client.ObjectKey{Namespace: "ns", Name: "c"},
			Err: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "c", errors.New(words))}
		want := message.Problem{Text: "The API server forbids the Pod c", Quote: `pods "c" is forbidden: ` + words, Advice: advice}
		NewWithT(t).Expect(CompanionNotCreated(err).Note).To(Equal(want.String()))
	}
}
