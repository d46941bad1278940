package controllers

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestCovers(t *testing.T) {
	for name, c := range map[string]struct {
		have, want string
		covers     bool
	}{
		"the same":                       {"a: 1", "a: 1", true},
		"more than wanted":               {"{a: 1, b: 2}", "a: 1", true},
		"less than wanted":               {"a: 1", "{a: 1, b: 2}", false},
		"another value":                  {"a: 2", "a: 1", false},
		"zero is a value":                {"a: 2", "a: 0", false},
		"false is a value":               {"{}", "a: false", false},
		"an empty map that was dropped":  {"{}", "a: {}", true},
		"keyed, with somebody else's":    {"env: [{name: X}, {name: A, value: b}]", "env: [{name: A, value: b}]", true},
		"keyed, missing":                 {"env: [{name: X}]", "env: [{name: A}]", false},
		"keyed, another value":           {"env: [{name: A, value: c}]", "env: [{name: A, value: b}]", false},
		"keyed, in another order":        {"ports: [{name: b}, {name: a}]", "ports: [{name: a}, {name: b}]", true},
		"Secrets, in another order":      {"imagePullSecrets: [{name: b}, {name: a}]", "imagePullSecrets: [{name: a}, {name: b}]", true},
		"spread, with somebody else's":   {"topologySpreadConstraints: [{topologyKey: z}, {topologyKey: a}]", "topologySpreadConstraints: [{topologyKey: a}]", true},
		"owners, with somebody else's":   {"ownerReferences: [{uid: 1}, {uid: 2, controller: true}]", "ownerReferences: [{uid: 2, controller: true}]", true},
		"whole list, the same":           {"drop: [ALL]", "drop: [ALL]", true},
		"whole list, more than wanted":   {"drop: [ALL, X]", "drop: [ALL]", false},
		"whole list of maps, defaulted":  {"sysctls: [{name: a, value: '0', more: 1}]", "sysctls: [{name: a, value: '0'}]", true},
		"whole list of maps, reordered":  {"sysctls: [{name: b}, {name: a}]", "sysctls: [{name: a}, {name: b}]", false},
		"a list where there is a map":    {"a: {b: 1}", "a: [1]", false},
		"a map where there is a list":    {"a: [1]", "a: {b: 1}", false},
		"a keyed list of what is no map": {"env: [1]", "env: [2]", false},
		"ports without names, the same":  {"ports: [{port: 1}, {port: 2}]", "ports: [{port: 1}, {port: 2}]", true},
		"ports without names, another":   {"ports: [{port: 1}, {port: 3}]", "ports: [{port: 1}, {port: 2}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := covers(parse(t, c.have), parse(t, c.want), ""); got != c.covers {
				t.Errorf("covers(%s, %s) = %t", c.have, c.want, got)
			}
		})
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestDiffersSeesWhatIsNoLongerWanted(t *testing.T) {
	with := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		e.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}}
	})
	live := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deploymentChild(t, with).want.Object, live); err != nil {
		t.Fatal(err)
	}
	if got, err := differs(deploymentChild(t, with), live); got || err != nil {
		t.Errorf("the same: differs is %t, %v", got, err)
	}
	without := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Resources = with.Spec.Resources })
	if got, err := differs(deploymentChild(t, without), live); !got || err != nil {
		t.Errorf("a variable that is no longer wanted: differs is %t, %v", got, err)
	}
}

// deploymentChild is the Deployment among an Echo's children.
func deploymentChild(t *testing.T, echo *v1.Echo) child {
	t.Helper()
	all, err := children(echo, Images{EchoServer: "quay.io/echo-operator/echo-server:v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.kind == "Deployment" {
			return c
		}
	}
	t.Fatal("no Deployment")
	return child{}
}
