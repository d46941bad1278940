package children

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

func TestMatches(t *testing.T) {
	with := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		e.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}}
	})
	without := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Resources = with.Spec.Resources })
	for name, c := range map[string]struct {
		echo   *v1.Echo
		change func(*appsv1.Deployment)
		want   bool
	}{
		"the same":                              {with, func(*appsv1.Deployment) {}, true},
		"a field of somebody else":              {with, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 5 }, true},
		"a variable that is no longer wanted":   {without, func(*appsv1.Deployment) {}, false},
		"another value of a field":              {with, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) }, false},
		"a label that was removed":              {with, func(d *appsv1.Deployment) { delete(d.Labels, labelManagedBy) }, false},
		"an owner reference that was removed":   {with, func(d *appsv1.Deployment) { d.OwnerReferences = nil }, false},
		"a digest that somebody else wrote":     {with, func(d *appsv1.Deployment) { d.Annotations[v1.AppliedHashAnnotation] = "0" }, false},
		"a status, which the operator does not": {with, func(d *appsv1.Deployment) { d.Status.Replicas = 2 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			live := liveDeployment(t, with)
			c.change(live)
			if got, err := deploymentChild(t, c.echo).Matches(live); got != c.want || err != nil {
				t.Errorf("Matches = %t, %v; want %t", got, err, c.want)
			}
		})
	}
}

// liveDeployment returns the Deployment of an Echo as the API server would return it.
func liveDeployment(t *testing.T, echo *v1.Echo) *appsv1.Deployment {
	t.Helper()
	live := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deploymentChild(t, echo).Want.Object, live); err != nil {
		t.Fatal(err)
	}
	return live
}

// deploymentChild returns the Deployment among the children of an Echo.
func deploymentChild(t *testing.T, echo *v1.Echo) Child {
	t.Helper()
	all, err := Of(echo, Images{EchoServer: "quay.io/echo-operator/echo-server:v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.RunsPods {
			return c
		}
	}
	t.Fatal("no Deployment")
	return Child{}
}
