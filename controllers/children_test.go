package controllers

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// everything sets every field of an Echo's spec that is not another's opposite.
func everything(e *v1.Echo) {
	e.UID = "1234"
	e.Spec = v1.EchoSpec{
		Replicas:         3,
		Image:            "registry.example.com/other:1",
		Port:             443,
		Args:             []string{"-v"},
		ImagePullPolicy:  corev1.PullAlways,
		ImagePullSecrets: []v1.ImagePullSecret{{Name: "pull"}},
		Env:              []corev1.EnvVar{{Name: "A", Value: "b"}},
		Response: &v1.EchoResponse{StatusCode: 503, DelayMilliseconds: 20, Body: "costs $(5)",
			Headers: []v1.EchoHeader{{Name: "X-A", Value: "b"}}},
		Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}},
		Service: v1.EchoService{Type: corev1.ServiceTypeLoadBalancer, Port: 444, Annotations: map[string]string{"a": "b"},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, LoadBalancerClass: "example.com/class"},
		Ingress: &v1.EchoIngress{Enabled: true, Host: "echo.example.com", Path: "/e", ClassName: "nginx", TLS: true,
			TLSSecretName: "certificate", Annotations: map[string]string{"c": "d"}},
		DisruptionBudget: v1.EchoDisruptionBudget{MaxUnavailable: new(int32(2))},
		NetworkPolicy:    &v1.EchoNetworkPolicy{Enabled: true},
		NodeSelector:     map[string]string{"disk": "ssd"},
		Tolerations:      []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}},
		PriorityClassName:         "high",
		PodLabels:                 map[string]string{"team": "a"},
		PodAnnotations:            map[string]string{"note": "b"},
		PodSecurityContext:        &corev1.PodSecurityContext{RunAsUser: new(int64(0))},
		SecurityContext:           &corev1.SecurityContext{RunAsUser: new(int64(0))},
	}
}

// TestChildren compares what is made for an Echo with the files in testdata. UPDATE=1 writes them anew, for a reviewer to read.
func TestChildren(t *testing.T) {
	for name, echo := range map[string]*v1.Echo{
		"minimal":    support.Echo("ns", "x", func(e *v1.Echo) { e.UID = "1234" }),
		"everything": support.Echo("ns", "x", everything),
	} {
		t.Run(name, func(t *testing.T) {
			all, err := children(echo, Images{EchoServer: "quay.io/echo-operator/echo-server:v1"})
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for _, c := range all {
				if c.want == nil {
					continue
				}
				text, err := yaml.Marshal(c.want.Object)
				if err != nil {
					t.Fatal(err)
				}
				got = append(append(got, "---\n"...), text...)
			}
			file := filepath.Join("testdata", name+".yaml")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("what is made differs from %s:\n%s", file, got)
			}
		})
	}
}

func TestURL(t *testing.T) {
	for want, change := range map[string]func(*v1.Echo){
		"http://x.ns.svc":      func(*v1.Echo) {},
		"http://x.ns.svc:81":   func(e *v1.Echo) { e.Spec.Service.Port = 81 },
		"http://a.example.com": func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/"} },
		"https://a.example.com/b": func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/b", TLS: true}
		},
	} {
		if got := urlOf(support.Echo("ns", "x", change)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	off := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Host: "a.example.com"} })
	if got := urlOf(off); got != "http://x.ns.svc" {
		t.Errorf("with an Ingress that is off: %s", got)
	}
}

func TestChildrenThatAreNotWanted(t *testing.T) {
	off := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.DisruptionBudget.Enabled = new(false)
		e.Spec.Ingress = &v1.EchoIngress{Host: "a.example.com"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{}
	})
	all, err := children(off, Images{EchoServer: "i"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if wanted := c.kind == "Deployment" || c.kind == "Service"; wanted != (c.want != nil) {
			t.Errorf("%s: wanted is %t", c.kind, c.want != nil)
		}
	}
}

func TestIngressWithoutAPath(t *testing.T) {
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com"} })
	if got := *ingress(echo).Spec.Rules[0].HTTP.Paths[0].Path; got != "/" {
		t.Errorf("the path is %q", got)
	}
}
