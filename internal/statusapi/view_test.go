package statusapi

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestViewOf_omitsSecrets(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Annotations = map[string]string{"note": "hush"}
		e.Spec.Args = []string{"--password=hush"}
		e.Spec.Env = []corev1.EnvVar{{Name: "TOKEN", Value: "hush"},
			{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "hush"}}}}
		e.Spec.Response = &v1.EchoResponse{StatusCode: 503, DelayMilliseconds: 20, Body: "hush",
			Headers: []v1.EchoHeader{{Name: "X-Key", Value: "hush"}}}
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "x.example.com", Annotations: map[string]string{"auth": "hush"}}
		e.Spec.PodAnnotations = map[string]string{"a": "hush"}
	})
	view := viewOf(echo, nil)
	text, err := json.Marshal(view)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).NotTo(ContainSubstring("hush"))
	want := specView{Replicas: 2, Port: 8080, Env: []string{"TOKEN", "OTHER"}, Service: "ClusterIP", Ingress: "x.example.com",
		Response: &responseView{StatusCode: 503, DelayMilliseconds: 20, Headers: []string{"X-Key"}, BodyLength: 4}}
	g.Expect(view.Spec).To(BeComparableTo(want))
	g.Expect(string(text)).To(ContainSubstring(`"nodes":[]`), "an empty list is missing")
}

func TestSpecViewOf_omitsDisabledIngress(t *testing.T) {
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Ingress = &v1.EchoIngress{Host: "off.example.com"}
		e.Spec.Paused = true
	})
	NewWithT(t).Expect(specViewOf(&echo.Spec)).To(BeComparableTo(specView{Replicas: 2, Port: 8080, Service: "ClusterIP", Paused: true}))
}

func TestViewOf_groupsPodsByNode(t *testing.T) {
	pods := []status.PodSummary{{Name: "c", Node: "n2", State: "Ready"}, {Name: "b", Node: "n1", State: "Failed"},
		{Name: "a", State: "Pending"}, {Name: "a-echo", Node: "n1", State: "Ready", Companion: true}}
	want := []nodeView{
		{Pods: []podView{{"a", "Pending", false}}},
		{Name: "n1", Pods: []podView{{"a-echo", "Ready", true}, {"b", "Failed", false}}},
		{Name: "n2", Pods: []podView{{"c", "Ready", false}}},
	}
	NewWithT(t).Expect(viewOf(support.Echo("ns", "x"), pods).Nodes).To(BeComparableTo(want))
}
