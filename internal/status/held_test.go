package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

// heldService returns a Service whose deletion began some time ago.
func heldService(age time.Duration, finalizers ...string) *corev1.Service {
	return &corev1.Service{Name: "x", Finalizers: finalizers, DeletionTimestamp: &metav1.Time{Time: clock.Add(-age)}}
}

func TestHeldBy(t *testing.T) {
	g := NewWithT(t)
	kept := heldService(time.Second, metav1.FinalizerDeleteDependents, "example.org/theirs")
	g.Expect(HeldBy("Service", kept).Problem().Text).To(Equal("the Service x is being deleted, but still has the finalizer example.org/theirs"))
	g.Expect(HeldBy("Service", heldService(0, metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents))).To(BeNil())
	g.Expect(HeldBy("Service", &corev1.Service{Finalizers: []string{"example.org/theirs"}})).To(BeNil())
	g.Expect(HeldBy("Service", nil)).To(BeNil())
}

// TestEvaluate_reportsHeldObject checks that an Echo is not ready while another controller keeps an object that must be replaced, and
// becomes degraded after a minute. Problems with pods and routes are reported, too.
func TestEvaluate_reportsHeldObject(t *testing.T) {
	const held = "The Service x is being deleted, but still has the finalizer example.org/theirs."
	const advice = " The controller that set the finalizer must remove it. If this controller no longer exists, remove the finalizer from the Service."
	const ready, starting, late = " 2 of 2 pods are ready.", "The pods are starting: 1 of 2 are ready.", "There has been no progress for 10 minutes."
	const noGateway, probe = "Gateway ns/g does not exist.", " Check the log and the readiness probe of the pods: their container must listen on spec.port."
	blocked := func(message, ofReady string) said {
		return said{"False DeletionBlocked", "False DeletionBlocked", "True DeletionBlocked", message, ofReady, incomplete, held + advice, "Warning NotReady"}
	}
	for name, c := range map[string]struct {
		age   time.Duration
		echo  *v1.Echo
		seen  Observation
		want  said
		phase string
		next  time.Duration
	}{
		"at first": {age: 20 * time.Second, seen: Observation{Deployment: seenDeployment(done, 2, 2, 2)},
			want: said{"False RollingOut", "True RollingOut", "False AsExpected", held + advice + ready, "2 of 2 pods are ready. " + held + advice, held, "",
				"Normal RolloutStarted"}, phase: v1.PhaseUpdating, next: 40 * time.Second},
		"after a minute": {age: time.Minute, seen: Observation{Deployment: seenDeployment(done, 2, 2, 2)},
			want: blocked(held+advice+ready, "2 of 2 pods are ready. "+held), phase: v1.PhaseWarning},
		"during a rollout": {age: time.Minute, seen: Observation{Deployment: seenDeployment(going, 1, 1, 1)},
			want: blocked(held+advice+" "+starting, starting+" "+held), phase: v1.PhaseWarning},
		"without a Gateway": {age: time.Minute, echo: support.Echo("ns", "x", behindGateway),
			seen:  Observation{Deployment: seenDeployment(done, 2, 2, 2), HTTPRoute: routeWith(clock), Gateways: objects.Gateways{}},
			want:  blocked(held+advice+" "+noGateway+ready, "2 of 2 pods are ready. "+held+" "+noGateway),
			phase: v1.PhaseWarning},
		"pods that make no progress": {age: time.Minute, seen: Observation{Deployment: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1)},
			want: said{"False ProgressDeadlineExceeded", "False DeletionBlocked", "True ProgressDeadlineExceeded",
				late + probe + " " + held + " 1 of 2 pods are ready.", "1 of 2 pods are ready. " + late + " " + held, incomplete, late + probe,
				"Warning NotReady"}, phase: v1.PhaseWarning},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo := c.echo
			if echo == nil {
				echo = support.Echo("ns", "x")
			}
			echo.Status = Evaluate(echo, Observation{Deployment: seenDeployment(done, 2, 2, 2)}, nil, clock).Status
			c.seen.Held = HeldBy("Service", heldService(c.age, "example.org/theirs"))
			report := Evaluate(echo, c.seen, nil, clock)
			g.Expect(saying(report)).To(BeComparableTo(c.want))
			g.Expect(report.Status.Phase).To(Equal(c.phase))
			if c.next > 0 {
				g.Expect(report.Next).To(Equal(c.next))
			}
			echo.Status = report.Status
			again := Evaluate(echo, c.seen, nil, clock)
			g.Expect(again.Status.Conditions).To(Equal(report.Status.Conditions))
			g.Expect(again.Transitions).To(BeNil())
		})
	}
	g := NewWithT(t)
	paused := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Paused = true })
	seen := Observation{Deployment: seenDeployment(done, 2, 2, 2), Held: HeldBy("Service", heldService(time.Hour, "example.org/theirs"))}
	g.Expect(Evaluate(paused, seen, nil, clock).Status.Message).NotTo(ContainSubstring("finalizer"))
	g.Expect(message.Short(message.MaxStatus, seen.Held.Problem())).To(Equal(held + advice))
}
