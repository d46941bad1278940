package echoesapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

// threeEchoes returns a store with the Echoes a/x, a/y, and b/x in no order, one pod for each Echo, and a pod that belongs to no Echo.
func threeEchoes() *store {
	s := &store{fail: map[string]error{}}
	for _, key := range [][2]string{{"b", "x"}, {"a", "y"}, {"a", "x"}} {
		echo := support.Echo(key[0], key[1])
		s.echoes = append(s.echoes, *echo)
		s.pods = append(s.pods, corev1.Pod{
			Namespace: key[0], Name: key[1] + "-1", Labels: objects.InstanceLabels(echo),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: key[1], Controller: new(true)}},
			Spec:            corev1.PodSpec{NodeName: "node-" + key[0]},
		})
	}
	s.pods = append(s.pods, corev1.Pod{Namespace: "a", Name: "other"})
	return s
}

func TestServer(t *testing.T) {
	const axItem, ayItem, bxItem = "a/x node-a/x-1", "a/y node-a/y-1", "b/x node-b/x-1"
	for name, c := range map[string]struct {
		url     string
		watched string
		fails   string // the Go type whose reads fail
		status  int
		refused string   // the error in the response
		want    []string // the Echoes in the response, each with its nodes and pods
	}{
		"all":                            {url: "/echoes", want: []string{axItem, ayItem, bxItem}},
		"of a namespace":                 {url: "/echoes?namespace=a", want: []string{axItem, ayItem}},
		"of a namespace without Echoes":  {url: "/echoes?namespace=c"},
		"of a namespace that is watched": {url: "/echoes?namespace=b", watched: "a b", want: []string{bxItem}},
		"all that are watched":           {url: "/echoes", watched: "a b", want: []string{axItem, ayItem, bxItem}},
		"one":                            {url: "/echoes/a/y", want: []string{ayItem}},
		"one, in a namespace we watch":   {url: "/echoes/a/y", watched: "a", want: []string{ayItem}},
		"none of this name":              {url: "/echoes/b/y", status: http.StatusNotFound, refused: `Echo "y" not found in namespace "b"`},
		"no such path":                   {url: "/echoes/a", status: http.StatusNotFound},
		"too long a path":                {url: "/echoes/a/x/y", status: http.StatusNotFound},
		"the Echoes cannot be read":      {url: "/echoes", fails: "EchoList", status: http.StatusInternalServerError, refused: "refused"},
		"the Echo cannot be read":        {url: "/echoes/a/x", fails: "Echo", status: http.StatusInternalServerError, refused: "refused"},
		"the pods of all cannot be read": {url: "/echoes", fails: "PodList", status: http.StatusInternalServerError,
			refused: "listing the pods: refused"},
		"the pods of one cannot be read": {url: "/echoes/a/x", fails: "PodList", status: http.StatusInternalServerError,
			refused: "listing the pods: refused"},
		"of a namespace that has no name": {url: "/echoes?namespace=A", status: http.StatusBadRequest,
			refused: `namespace: "A" is not a valid namespace name: `},
		"of a namespace we do not watch": {url: "/echoes?namespace=c", watched: "a b", status: http.StatusNotFound,
			refused: `this operator does not watch namespace "c", only a, b`},
		"one, in a namespace we do not watch": {url: "/echoes/b/x", watched: "a", status: http.StatusNotFound,
			refused: `this operator does not watch namespace "b", only a`},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), threeEchoes()
			s.fail[c.fails] = errors.New("refused")
			handler := newServer(true, s, func(s *Server) { s.Namespaces = strings.Fields(c.watched) }).handler()
			out := request(t, handler, http.MethodGet, c.url)
			g.Expect(out.Code).To(Equal(cmp.Or(c.status, http.StatusOK)))
			if c.refused != "" {
				g.Expect(message(t, out)).To(HavePrefix(c.refused))
			}
			if c.status != 0 {
				return
			}
			list := struct{ Items []echoView }{}
			g.Expect(json.Unmarshal(out.Body.Bytes(), &list)).To(Succeed())
			if strings.Count(c.url, "/") > 1 {
				list.Items = make([]echoView, 1)
				g.Expect(json.Unmarshal(out.Body.Bytes(), &list.Items[0])).To(Succeed())
			}
			var shown []string
			for _, e := range list.Items {
				for _, node := range e.Nodes {
					shown = append(shown, fmt.Sprintf("%s/%s %s/%s", e.Namespace, e.Name, node.Name, node.Pods[0].Name))
				}
			}
			g.Expect(shown).To(Equal(c.want))
		})
	}
}

// TestServer_changesNothing checks that other methods are rejected.
func TestServer_changesNothing(t *testing.T) {
	for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodDelete} {
		for _, url := range []string{"/echoes", "/echoes/a/x"} {
			out := request(t, newServer(true, threeEchoes()).handler(), method, url)
			NewWithT(t).Expect(out.Code).To(Equal(http.StatusMethodNotAllowed), method)
		}
	}
}

func TestViewOf_omitsSecrets(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Annotations = map[string]string{"note": "hush"}
		e.Spec.Args = []string{"--password=hush"}
		e.Spec.Env = []corev1.EnvVar{{Name: "TOKEN", Value: "hush"},
			{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "hush"}}}}
		e.Spec.Response = &v1.EchoResponse{StatusCode: 503, DelayMilliseconds: 20, Body: "hush",
			Headers: []v1.EchoHeader{{Name: "X-Key", Value: "hush"}}}
		e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "x.example.com", Annotations: map[string]string{"auth": "hush"}}
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
	echo.Spec.Ingress.Enabled, echo.Spec.Paused = new(false), true
	want.Ingress, want.Paused = "", true
	g.Expect(specViewOf(&echo.Spec)).To(BeComparableTo(want))
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
