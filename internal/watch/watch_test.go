package watch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestComplete(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		want      Options
		wrong     string // the error
	}{
		"a kind": {arguments: "pods", want: Options{corev1.SchemeGroupVersion, "pods", "", "", "text"}},
		"flags after the kind": {arguments: "echoes -n default -l app=web,tier!=cache -o json",
			want: Options{v1.GroupVersion, "echoes", "default", "app=web,tier!=cache", "json"}},
		"nodes":                  {arguments: "nodes -l x=y", want: Options{corev1.SchemeGroupVersion, "nodes", "", "x=y", "text"}},
		"no kind":                {wrong: `watch requires one of pods, nodes, deployments, echoes, but got ""`},
		"an unknown kind":        {arguments: "secrets", wrong: `watch requires one of pods, nodes, deployments, echoes, but got "secrets"`},
		"two kinds":              {arguments: "pods nodes", wrong: `but got "pods nodes"`},
		"an unknown flag":        {arguments: "pods --follow", wrong: "unknown flag: --follow"},
		"a flag without a value": {arguments: "pods -n", wrong: "flag needs an argument: 'n' in -n"},
		"a namespace of nodes": {arguments: "nodes -n default",
			wrong: `--namespace: "default" is not a valid namespace of nodes: omit the flag to watch all nodes`},
		"an invalid namespace": {arguments: "pods -n A_B", wrong: `--namespace: "A_B" is not a valid namespace of pods`},
		"an empty namespace":   {arguments: "pods --namespace=", wrong: `--namespace: "" is not a valid namespace of pods`},
		"a bad selector": {arguments: "pods -l a=b=c",
			wrong: `--selector: "a=b=c" is not a valid label selector, such as app=web,tier!=cache`},
		"another format": {arguments: "pods -o yaml", wrong: `--output: "yaml" is not a known format: use text or json`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, flags := Options{}, pflag.NewFlagSet("watch", pflag.ContinueOnError)
			o.AddFlags(flags)
			err := flags.Parse(strings.Fields(c.arguments))
			if err == nil {
				err = o.Complete(flags.Args(), flags)
			}
			if c.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(o).To(BeComparableTo(c.want, cmp.AllowUnexported(Options{})))
		})
	}
}

// state parses an object as a client does: whole numbers become int64 values.
func state(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	o := &unstructured.Unstructured{}
	if err == nil {
		err = o.UnmarshalJSON(encoded)
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return o
}

func TestPrinter_describesState(t *testing.T) {
	for object, want := range map[string]string{
		`{kind: Pod, status: {phase: Pending}}`:                                                             "Pending",
		`{kind: Pod, spec: {nodeName: node-1}, status: {phase: Running}}`:                                   "Running on node-1",
		`{kind: Node, status: {conditions: [{type: X, status: "False"}, {type: Ready, status: "True"}]}}`:   "Ready",
		`{kind: Node, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: Unknown}]}}`: "NotReady, unschedulable",
		`{kind: Node}`: "NotReady",
		`{kind: Deployment, spec: {replicas: 3}, status: {readyReplicas: 2}}`:            "2/3 ready",
		`{kind: Echo, spec: {replicas: 3}, status: {phase: Updating, readyReplicas: 2}}`: "Updating 2/3 ready",
		`{kind: Echo, spec: {replicas: 3}}`:                                              "0/3 ready",
	} {
		g, line := NewWithT(t), &strings.Builder{}
		newPrinter(line, false, func(err error) { t.Error(err) }).OnAdd(state(t, strings.Replace(object, "{", "{metadata: {name: x}, ", 1)), true)
		g.Expect(line.String()).To(MatchRegexp(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)  ADDED    x  ` + want + "\n$"))
	}
}

func TestPrinter_asJSON(t *testing.T) {
	g, line, event := NewWithT(t), &strings.Builder{}, map[string]any{}
	newPrinter(line, true, func(err error) { t.Error(err) }).OnDelete(
		cache.DeletedFinalStateUnknown{Obj: state(t, `{kind: Pod, metadata: {namespace: default, name: web}}`)})
	g.Expect(strings.Count(line.String(), "\n")).To(Equal(1))
	g.Expect(json.Unmarshal([]byte(line.String()), &event)).To(Succeed())
	g.Expect(time.Parse(time.RFC3339, event["time"].(string))).Error().NotTo(HaveOccurred())
	delete(event, "time")
	g.Expect(event).To(Equal(map[string]any{"type": "DELETED", "kind": "Pod", "namespace": "default", "name": "web",
		"object": map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "web"}}}))
}

// TestPrinter_ignoresUnchangedObjects checks that an object that is listed again after an interruption is not printed.
func TestPrinter_ignoresUnchangedObjects(t *testing.T) {
	line := &strings.Builder{}
	object := func(version string) any {
		return state(t, `{kind: Node, metadata: {name: x, resourceVersion: "`+version+`"}}`)
	}
	p := newPrinter(line, false, func(err error) { t.Error(err) })
	p.OnUpdate(object("1"), object("1"))
	NewWithT(t).Expect(line.String()).To(BeEmpty())
	p.OnUpdate(object("1"), object("2"))
	NewWithT(t).Expect(line.String()).To(ContainSubstring("UPDATED  x"))
}

func TestStrip(t *testing.T) {
	const secret = `[{name: A, env: [{name: B, value: s3cret}]}]`
	for _, c := range []struct{ before, after string }{
		{`{kind: Pod, metadata: {managedFields: [{}], annotations: {kubectl.kubernetes.io/last-applied-configuration: s3cret, y: z}}}`,
			`{kind: Pod, metadata: {annotations: {y: z}}}`},
		{`{kind: Echo, spec: {env: ` + secret + `, args: [s3cret], response: {body: s3cret}, replicas: 1}}`,
			`{kind: Echo, spec: {replicas: 1}}`},
		{`{kind: Pod, spec: {containers: ` + secret + `, initContainers: ` + secret + `, ephemeralContainers: ` + secret + `, nodeName: n}}`,
			`{kind: Pod, spec: {nodeName: n}}`},
		{`{kind: Deployment, spec: {template: {spec: {containers: ` + secret + `}}, replicas: 1}}`, `{kind: Deployment, spec: {replicas: 1}}`},
		{`{kind: Node}`, `{kind: Node}`},
	} {
		g := NewWithT(t)
		got, err := strip(state(t, c.before))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(BeComparableTo(state(t, c.after)))
	}
}

// TestRun_reportsInterruption checks that Run reports an interruption, and goes on. The informer finds out what changed in the meantime.
func TestRun_reportsInterruption(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			http.NotFound(out, r)
		case query.Get("watch") == "":
			_, _ = io.WriteString(out, `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"3"},`+
				`"items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"one","resourceVersion":"1"}}]}`)
		default:
			out.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	stdout, stderr := gbytes.NewBuffer(), gbytes.NewBuffer()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, &rest.Config{Host: server.URL}, Options{API: corev1.SchemeGroupVersion, resource: "nodes"}, stdout, stderr)
	}()
	g.Eventually(stdout, time.Minute).Should(gbytes.Say("ADDED    one"))
	g.Expect(server.Listener.Close()).To(Succeed())
	server.CloseClientConnections()
	g.Eventually(stderr, time.Minute).Should(gbytes.Say(`(?m)^ERROR    \S+  .*connection refused`))
	g.Expect(ended).To(BeEmpty())
	interrupt()
	g.Expect(<-ended).To(Succeed())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestRun_endsOnFailedWrite also checks that each request has the namespace and the selector: no other request returns the pod.
func TestRun_endsOnFailedWrite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/ns/pods" || r.FormValue("labelSelector") != "app=web" || r.FormValue("sendInitialEvents") != "" {
			http.NotFound(out, r) // client-go sends a list request if initial events are not supported
			return
		}
		out.Header().Set("Content-Type", "application/json")
		if r.FormValue("watch") == "" {
			_, _ = io.WriteString(out, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"5"},"items":[]}`)
			return
		}
		_, _ = io.WriteString(out, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"web"}}}`)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pods := Options{API: corev1.SchemeGroupVersion, resource: "pods", namespace: "ns", selector: "app=web"}
	err := Run(ctx, &rest.Config{Host: server.URL}, pods, broken{}, io.Discard)
	NewWithT(t).Expect(err).To(MatchError("printing: disk full"))
}
