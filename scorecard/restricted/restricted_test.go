package restricted

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

// operatorsPod returns the pod that the bundle's Deployment makes.
func operatorsPod(t *testing.T) *corev1.Pod {
	t.Helper()
	b, err := bundle.Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	template := b.CSV.Spec.Install.Spec.Deployments[0].Spec.Template
	return &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
}

func TestTheOperatorOfTheBundle(t *testing.T) {
	if problems, err := Problems(operatorsPod(t)); err != nil || len(problems) > 0 {
		t.Errorf("the problems are %q, %v", problems, err)
	}
}

func TestAPodThatIsLessStrict(t *testing.T) {
	for want, loosen := range map[string]func(*corev1.Pod, *corev1.Container){
		"is not restricted: runAsNonRoot":              func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.RunAsNonRoot = nil },
		"is not restricted: seccompProfile":            func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.SeccompProfile = nil },
		"is not restricted: unrestricted capabilities": func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.Capabilities = nil },
		"is not restricted: allowPrivilegeEscalation":  func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
		"has a fixed user":                             func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.RunAsUser = new(int64(1001)) },
		"container manager has a fixed user":           func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.RunAsUser = new(int64(1001)) },
		"container manager can write":                  func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = new(false) },
		"container manager requests no cpu":            func(_ *corev1.Pod, c *corev1.Container) { delete(c.Resources.Requests, corev1.ResourceCPU) },
		"container manager requests no memory": func(_ *corev1.Pod, c *corev1.Container) {
			c.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("0")
		},
		"container helper can write": func(p *corev1.Pod, c *corev1.Container) {
			helper := c.DeepCopy()
			helper.Name, helper.SecurityContext.ReadOnlyRootFilesystem = "helper", nil
			p.Spec.InitContainers = []corev1.Container{*helper}
		},
	} {
		pod := operatorsPod(t)
		loosen(pod, &pod.Spec.Containers[0])
		if problems, err := Problems(pod); err != nil || len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("the problems are %q, %v, want %q", problems, err, want)
		}
	}
}

func TestAUserThatOpenShiftGave(t *testing.T) {
	pod := operatorsPod(t)
	pod.Annotations = map[string]string{"openshift.io/scc": "restricted-v2"}
	pod.Spec.SecurityContext.RunAsUser = new(int64(1000650000))
	if problems, err := Problems(pod); err != nil || len(problems) > 0 {
		t.Errorf("the problems are %q, %v", problems, err)
	}
}
