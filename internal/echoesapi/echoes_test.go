package echoesapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

// threeEchoes returns a store with the Echoes a/x, a/y, and b/x in no particular order, one pod for each Echo, and a pod that belongs to no
// Echo.
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

// shownEchoes returns the Echoes in a response, each with its nodes and pods.
func shownEchoes(t *testing.T, out *httptest.ResponseRecorder) []string {
	t.Helper()
	list := echoList{}
	if err := json.Unmarshal(out.Body.Bytes(), &list); err != nil {
		t.Fatalf("%v: %s", err, out.Body)
	}
	shown := []string{}
	for _, e := range list.Items {
		text := e.Namespace + "/" + e.Name
		for _, node := range e.Nodes {
			text += " " + node.Name
			for _, pod := range node.Pods {
				text += "/" + pod.Name
			}
		}
		shown = append(shown, text)
	}
	return shown
}

func TestListEchoes(t *testing.T) {
	const ax, ay, bx = "a/x node-a/x-1", "a/y node-a/y-1", "b/x node-b/x-1"
	for name, c := range map[string]struct {
		url     string
		watched []string
		want    []string
		refused string
	}{
		"all":                            {url: "/echoes", want: []string{ax, ay, bx}},
		"of a namespace":                 {url: "/echoes?namespace=a", want: []string{ax, ay}},
		"of a namespace without Echoes":  {url: "/echoes?namespace=c", want: []string{}},
		"of a namespace that is watched": {url: "/echoes?namespace=b", watched: []string{"a", "b"}, want: []string{bx}},
		"all that are watched":           {url: "/echoes", watched: []string{"a", "b"}, want: []string{ax, ay, bx}},
		"of one that is not watched": {url: "/echoes?namespace=c", watched: []string{"a", "b"},
			refused: `this operator does not watch namespace "c", only a, b`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out := request(t, newServer(true, threeEchoes(), func(s *Server) { s.Namespaces = c.watched }).handler(), http.MethodGet, c.url)
			if c.refused != "" {
				g.Expect(out.Code).To(Equal(http.StatusNotFound))
				g.Expect(message(t, out)).To(Equal(c.refused))
				return
			}
			if diff := cmp.Diff(c.want, shownEchoes(t, out)); diff != "" || out.Code != http.StatusOK {
				t.Errorf("the status is %d: %s", out.Code, diff)
			}
		})
	}
}

func TestListEchoes_rejectsInvalidNamespace(t *testing.T) {
	g := NewWithT(t)
	out := request(t, newServer(true, threeEchoes()).handler(), http.MethodGet, "/echoes?namespace=A")
	g.Expect(out.Code).To(Equal(http.StatusBadRequest))
	g.Expect(message(t, out)).To(HavePrefix(`namespace: "A" is not a valid namespace name: `))
}

func TestGetEcho(t *testing.T) {
	for name, c := range map[string]struct {
		url     string
		watched []string
		refused string
	}{
		"there":                         {url: "/echoes/a/y"},
		"there, in a watched namespace": {url: "/echoes/a/y", watched: []string{"a"}},
		"of another namespace":          {url: "/echoes/b/y", refused: `Echo "y" not found in namespace "b"`},
		"in one that is not watched": {url: "/echoes/b/x", watched: []string{"a"},
			refused: `this operator does not watch namespace "b", only a`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out := request(t, newServer(true, threeEchoes(), func(s *Server) { s.Namespaces = c.watched }).handler(), http.MethodGet, c.url)
			if c.refused != "" {
				g.Expect(out.Code).To(Equal(http.StatusNotFound))
				g.Expect(message(t, out)).To(Equal(c.refused))
				return
			}
			got := echoView{}
			g.Expect(json.Unmarshal(out.Body.Bytes(), &got)).To(Succeed())
			want := []nodeView{{Name: "node-a", Pods: []podView{{Name: "y-1", State: "Pending"}}}}
			if diff := cmp.Diff(want, got.Nodes); diff != "" || got.Namespace != "a" || got.Name != "y" || out.Code != http.StatusOK {
				t.Errorf("got %+v: %s", got, diff)
			}
		})
	}
}

func TestServer_reportsFailedReads(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct{ url, kind, want string }{
		"the Echoes":             {"/echoes", "EchoList", "refused"},
		"the pods of all Echoes": {"/echoes", "PodList", "listing the pods: refused"},
		"the Echo":               {"/echoes/a/x", "Echo", "refused"},
		"the pods of one Echo":   {"/echoes/a/x", "PodList", "listing the pods: refused"},
	} {
		s := threeEchoes()
		s.fail[c.kind] = errors.New("refused")
		out := request(t, newServer(true, s).handler(), http.MethodGet, c.url)
		g.Expect(out.Code).To(Equal(http.StatusInternalServerError), name)
		g.Expect(message(t, out)).To(Equal(c.want), name)
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
