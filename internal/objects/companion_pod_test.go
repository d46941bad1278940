package objects

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestCompanionName(t *testing.T) {
	long := strings.Repeat("a", 46)
	for name, owner := range map[string]string{
		"short":                    "web-0",
		"as long as a pod's":       strings.Repeat("a", 253),
		"cut at a dot":             long + ".b.c" + long,
		"cut at several":           long + "..-" + long,
		"as long as fits, exactly": long + "a",
	} {
		got := companionName(owner, "u")
		if len(got) > 63 || !strings.HasPrefix(got, owner[:min(len(owner), 40)]) || strings.Contains(got, ".-") || strings.Contains(got, "--") {
			t.Errorf("%s: %s is called %s", name, owner, got)
		}
	}
	if companionName("web-0", "1") == companionName("web-0", "2") {
		t.Error("two pods with the same name have companions with the same name")
	}
	// The names must not change, because other versions of the operator must find companions created by this version.
	if got, want := companionName("web-0", "1"), "web-0-echo-6b86b273ff"; got != want {
		t.Errorf("the companion is called %s, want %s", got, want)
	}
}

func TestCompanion_runsOnNodeOfOwner(t *testing.T) {
	owner := support.PodWithCompanionLabel()
	pod := companionFor(t, owner, support.EchoOfCompanions(support.EveryField))
	want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-0", UID: "u", Controller: new(true),
		BlockOwnerDeletion: new(false)}}
	if diff := cmp.Diff(want, pod.OwnerReferences); diff != "" || !IsCompanion(&pod) || IsCompanion(owner) {
		t.Errorf("its owner is not its own: %s", diff)
	}
	match := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0]
	if pod.Spec.NodeName != "" || match.Key != "metadata.name" || !slices.Equal(match.Values, []string{"n"}) {
		t.Errorf("the companion is placed by %+v", match)
	}
	if !slices.Equal(pod.Spec.Tolerations, owner.Spec.Tolerations) || len(pod.Spec.TopologySpreadConstraints) != 0 ||
		pod.Spec.PriorityClassName != "" {
		t.Errorf("the companion is scheduled by %+v", pod.Spec)
	}
	if pod.Annotations[safeToEvict] != "true" {
		t.Error("the companion prevents the removal of a node")
	}
}

func TestCompanion_runsEchoServer(t *testing.T) {
	echo := support.EchoOfCompanions(support.EveryField)
	server := companionFor(t, support.PodWithCompanionLabel(), echo).Spec.Containers[0]
	env := map[string]string{}
	for _, e := range server.Env {
		env[e.Name] = e.Value
	}
	if server.Image != echo.Spec.Image || server.Ports[0].ContainerPort != echo.Spec.Port || env["ECHO_RESPONSE_STATUS"] != "503" {
		t.Errorf("the companion runs %+v", server)
	}
	NewWithT(t).Expect(env["SERVICE_NAME"]+env["INGRESS_NAME"]).To(BeEmpty(), "the companion seems to be behind a Service")
}

func TestCompanion_isSelectedOnlyByOperator(t *testing.T) {
	g := NewWithT(t)
	echo := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.PodLabels = v1.Labels{"app": "web"} })
	pod := companionFor(t, support.PodWithCompanionLabel(), echo)
	g.Expect(hasLabels(&pod, SelectorLabels(echo))).To(BeFalse(), "the Echo's Service and Deployment select a companion")
	for key, value := range support.PodWithCompanionLabel().Labels {
		if pod.Labels[key] == value {
			t.Errorf("a companion has its owner's label %s", key)
		}
	}
	g.Expect(pod.Labels["app"]).To(BeEmpty(), "a companion has the labels of the Echo's own pods")
	g.Expect(ManagedSelector().Matches(labels.Set(pod.Labels))).To(BeTrue(), "the operator's cache does not hold companions")
}

func TestCompanion_digestIgnoresUnrelatedFields(t *testing.T) {
	before := companionFor(t, support.PodWithCompanionLabel(), support.EchoOfCompanions())
	after := companionFor(t, support.PodWithCompanionLabel(), support.EchoOfCompanions(func(e *v1.Echo) {
		e.Spec.Replicas = new(int32(7))
		e.Spec.Service.Type = corev1.ServiceTypeNodePort
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com"}
		e.Spec.PodLabels = v1.Labels{"a": "b"}
	}))
	hash := before.Annotations[v1.AppliedHashAnnotation]
	NewWithT(t).Expect(after.Annotations).To(HaveKeyWithValue(v1.AppliedHashAnnotation, hash), "the companion is replaced unnecessarily")
}
