package objects

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestPolicy_rejectsTooManyReplicas(t *testing.T) {
	for replicas, allowed := range map[int32]bool{0: true, 19: true, 20: true, 21: false, 1000: false} {
		err := Policy{MaxReplicas: 20}.Check(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = &replicas }))
		if allowed != (err == nil) {
			t.Errorf("%d replicas: %v", replicas, err)
		}
		if err != nil && (!errors.As(err, new(*InvalidSpecError)) || !strings.Contains(err.Error(), "spec.replicas") ||
			!strings.Contains(err.Error(), "MAX_REPLICAS")) {
			t.Errorf("the error does not say what to change: %v", err)
		}
	}
}

func standard(t *testing.T, name string) PodSecurity {
	t.Helper()
	g := NewWithT(t)
	security, err := NewPodSecurity(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(security.String()).To(Equal(name))
	return security
}

// TestPodSecurity_rejectsViolations checks, for each change to an Echo, the strictest standard that the changed pods meet.
func TestPodSecurity_rejectsViolations(t *testing.T) {
	rank := map[string]int{"privileged": 0, "baseline": 1, "restricted": 2}
	container := func(change func(*corev1.SecurityContext)) func(*v1.EchoSpec) {
		return func(s *v1.EchoSpec) {
			s.SecurityContext = &corev1.SecurityContext{}
			change(s.SecurityContext)
		}
	}
	for name, c := range map[string]struct {
		change func(*v1.EchoSpec)
		meets  string
		says   string
	}{
		"the default":       {func(*v1.EchoSpec) {}, "restricted", ""},
		"a port below 1024": {func(s *v1.EchoSpec) { s.Port = 80 }, "restricted", ""},
		"another image":     {func(s *v1.EchoSpec) { s.Image = "nginx:1" }, "restricted", ""},
		"an empty security context": {container(func(*corev1.SecurityContext) {}), "baseline",
			`container "echo" must set securityContext.allowPrivilegeEscalation=false`},
		"privileged": {container(func(c *corev1.SecurityContext) { c.Privileged = new(true) }), "privileged",
			`privileged (container "echo" must not set securityContext.privileged=true)`},
		"an unsafe sysctl": {func(s *v1.EchoSpec) {
			s.PodSecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}
		}, "privileged", "kernel.msgmax"},
		"no AppArmor by an annotation": {func(s *v1.EchoSpec) {
			s.PodAnnotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/echo": "unconfined"}
		}, "privileged", "apparmor"},
	} {
		echo := support.EchoOfCompanions(func(e *v1.Echo) { c.change(&e.Spec) })
		all, err := Desired(echo, testConfig)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for level := range rank {
			policy := Policy{MaxReplicas: 20, PodSecurity: standard(t, level)}
			err := policy.Check(echo, all...)
			if allowed := rank[level] <= rank[c.meets]; allowed != (err == nil) {
				t.Errorf("%s, %s: %v", name, level, err)
			}
			if err != nil && (!errors.As(err, new(*InvalidSpecError)) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), "Standard, "+level) || !strings.Contains(err.Error(), "POD_SECURITY")) {
				t.Errorf("%s, %s: the error does not say what to change: %v", name, level, err)
			}
			plan, planErr := (&CompanionState{Owner: labeledPod(), Echo: echo, Node: &corev1.Node{}}).Plan(testConfig,
				policy, time.Unix(1000, 0))
			if planErr != nil || (plan.Apply == nil) != (err != nil) {
				t.Errorf("%s, %s: the companion is %+v, %v", name, level, plan.Apply, planErr)
			}
		}
	}
}

// TestPodSecurity_podsOfCronJobs checks that a Pod Security Standard is also enforced for a check's pods.
func TestPodSecurity_podsOfCronJobs(t *testing.T) {
	g, restricted := NewWithT(t), standard(t, "restricted")
	echo := checked()
	child, err := Check(echo, &echo.Spec.Checks[0], nil, checkImages, httpproxy.Config{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(restricted.Validate(child)).To(Succeed())
	template := []string{"spec", "jobTemplate", "spec", "template", "spec", "hostNetwork"}
	g.Expect(unstructured.SetNestedField(child.Desired.Object, true, template...)).To(Succeed())
	g.Expect(restricted.Validate(child)).To(MatchError(ContainSubstring("hostNetwork=true")))
	child.Desired = nil
	g.Expect(restricted.Validate(child)).To(Succeed())
}

func TestPodSecurity_zeroAllowsAllPods(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.SecurityContext = &corev1.SecurityContext{Privileged: new(true)} })
	all, err := Desired(echo, testConfig)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect((Policy{MaxReplicas: 20}).Check(echo, all...)).To(Succeed())
	g.Expect((PodSecurity{}).String()).To(Equal("privileged"))
}

func TestNewPodSecurity_rejectsUnknownStandard(t *testing.T) {
	for _, name := range []string{"", "Baseline", "strict"} {
		_, err := NewPodSecurity(name)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("is not privileged, baseline, or restricted")), "%q", name)
	}
}

// TestDesired_podsMeetBaseline checks that only fields that an Echo sets, but none that the operator adds, can violate the baseline.
func TestDesired_podsMeetBaseline(t *testing.T) {
	policy := Policy{MaxReplicas: 20, PodSecurity: standard(t, "baseline")}
	for _, echo := range support.Variants() {
		NewWithT(t).Expect(policy.Check(echo, generatedChildren(t, echo)...)).To(Succeed(), "%+v", echo.Spec)
	}
}
