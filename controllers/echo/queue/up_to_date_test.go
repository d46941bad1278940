package queue

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
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
	last := comparisonOf(fakecluster.StoredEcho(), config, found())
	NewWithT(t).Expect(last.equal(comparisonOf(fakecluster.StoredEcho(), config, found()))).To(BeTrue(), "the same objects differ")
	for name, c := range map[string]struct {
		echo   *v1.Echo
		config children.Config
		found  []client.Object
	}{
		"an edited child":     {fakecluster.StoredEcho(), config, found(func(s *corev1.Service) { s.ResourceVersion = "2" })},
		"another child":       {fakecluster.StoredEcho(), config, found(func(s *corev1.Service) { s.UID = "other" })},
		"a child that is new": {fakecluster.StoredEcho(), config, []client.Object{found()[0], found()[0]}},
		"a child that went":   {fakecluster.StoredEcho(), config, []client.Object{nil, nil}},
		"an edited spec":      {fakecluster.StoredEcho(func(e *v1.Echo) { e.Generation++ }), config, found()},
		"another Echo":        {fakecluster.StoredEcho(func(e *v1.Echo) { e.UID = "other" }), config, found()},
		"another image":       {fakecluster.StoredEcho(), children.Config{Images: children.Images{EchoServer: "b"}}, found()},
		"another TLS profile": {fakecluster.StoredEcho(),
			children.Config{Images: config.Images, TLS: children.TLSProfile{Ciphers: []string{"c"}}}, found()},
	} {
		if last.equal(comparisonOf(c.echo, c.config, c.found)) {
			t.Errorf("%s: the change goes unnoticed", name)
		}
	}
}
