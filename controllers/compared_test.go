package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestComparison_holdsOnlyWhatWasCompared(t *testing.T) {
	config := children.Config{Images: children.Images{EchoServer: "a"}}
	found := func(changes ...func(*corev1.Service)) []client.Object {
		service := &corev1.Service{}
		service.UID, service.ResourceVersion = "s", "1"
		for _, change := range changes {
			change(service)
		}
		return []client.Object{service, nil}
	}
	last := comparisonOf(storedEcho(), config, found())
	NewWithT(t).Expect(last.equal(comparisonOf(storedEcho(), config, found()))).To(BeTrue(), "it was compared")
	for name, c := range map[string]struct {
		echo   *v1.Echo
		config children.Config
		found  []client.Object
	}{
		"an edited child":     {storedEcho(), config, found(func(s *corev1.Service) { s.ResourceVersion = "2" })},
		"another child":       {storedEcho(), config, found(func(s *corev1.Service) { s.UID = "other" })},
		"a child that is new": {storedEcho(), config, []client.Object{found()[0], found()[0]}},
		"a child that went":   {storedEcho(), config, []client.Object{nil, nil}},
		"an edited spec":      {storedEcho(func(e *v1.Echo) { e.Generation++ }), config, found()},
		"another Echo":        {storedEcho(func(e *v1.Echo) { e.UID = "other" }), config, found()},
		"another image":       {storedEcho(), children.Config{Images: children.Images{EchoServer: "b"}}, found()},
		"another TLS profile": {storedEcho(), children.Config{Images: config.Images, TLS: children.TLSProfile{Ciphers: []string{"c"}}}, found()},
	} {
		if last.equal(comparisonOf(c.echo, c.config, c.found)) {
			t.Errorf("%s: it was not compared", name)
		}
	}
}

func TestOnlyChildrenThatWereKeptAreAsWanted(t *testing.T) {
	d := &appsv1.Deployment{}
	wanted := []children.Child{{Kind: "Deployment", Want: &unstructured.Unstructured{}}, {Kind: "Service"}}
	for name, c := range map[string]struct {
		live []client.Object
		kept map[string]client.Object
		want bool
	}{
		"kept":            {[]client.Object{d, nil}, map[string]client.Object{"Deployment": d}, true},
		"applied":         {[]client.Object{d, nil}, nil, false},
		"created":         {[]client.Object{nil, nil}, nil, false},
		"to be pruned":    {[]client.Object{d, &corev1.Service{}}, map[string]client.Object{"Deployment": d}, false},
		"nothing is seen": {[]client.Object{nil, nil}, nil, false},
	} {
		NewWithT(t).Expect(asWanted(wanted, c.live, &status.Observation{AsWanted: c.kept})).To(Equal(c.want), name)
	}
}
