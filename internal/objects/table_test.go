package objects

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var testConfig = Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}, Served: allServed()}

// allServed returns all kinds, as if a cluster served the optional ones.
func allServed() Served {
	served := Served{}
	for _, kind := range Table() {
		served[kind.Kind] = true
	}
	return served
}

// liveChild returns the child of type T as the API server would return it, or nil if the Echo should have none. It fails the test if the
// child has a field that the type does not have.
func liveChild[T any](t *testing.T, echo *v1.Echo, config Config) *T {
	t.Helper()
	g := NewWithT(t)
	all, err := Desired(echo, config)
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		live, ok := any(c.NewObject()).(*T)
		if !ok || c.Desired == nil {
			continue
		}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(c.Desired.Object, live, true)).To(Succeed(), "%s", c.Kind)
		return live
	}
	if !slices.ContainsFunc(all, func(c Child) bool { _, ok := any(c.NewObject()).(*T); return ok }) {
		t.Fatalf("no row of Table in table.go has an object of type %T", *new(T))
	}
	return nil
}

// TestDesired_returnsDesiredChildren compares the children of Echoes with the files in testdata. UPDATE=1 rewrites these files.
func TestDesired_returnsDesiredChildren(t *testing.T) {
	config := Config{
		Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1",
			PathCheck: "quay.io/echo-operator/echo-operator-pathcheck:v1"},
		TLS:    TLSProfile{MinVersion: "VersionTLS12", Ciphers: []string{"A", "B"}},
		Served: allServed(),
	}
	minimal := support.Echo("ns", "x", func(e *v1.Echo) { e.UID = "1234" })
	everything := support.Echo("ns", "x", support.EveryField, monitored)
	if first, _ := Desired(minimal, config); first[0].Kind != "NetworkPolicy" {
		t.Error("pods would run before their NetworkPolicy exists")
	}
	one := func(child Child, err error) ([]Child, error) { return []Child{child}, err }
	for name, made := range map[string]func() ([]Child, error){
		"minimal": func() ([]Child, error) { return Desired(minimal, config) },
		"everything": func() ([]Child, error) {
			all, err := Desired(everything, config)
			check, checkErr := Check(everything, &everything.Spec.Checks[0], nil, config.Images, httpproxy.Config{})
			companion, companionErr := Companion(labeledPod(), everything, config)
			return append(all, check, PodMonitor(everything), companion), errors.Join(err, checkErr, companionErr)
		},
		"other-image": func() ([]Child, error) {
			return Desired(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
		},
		"check": func() ([]Child, error) {
			return one(Check(minimal, &v1.EchoCheck{Name: "path", URL: "https://x.example.com/", Schedule: "*/15 * * * *"}, nil, config.Images, httpproxy.Config{}))
		},
		"companion": func() ([]Child, error) {
			owner := &corev1.Pod{Namespace: "ns", Name: "web-1", UID: "5678"}
			owner.Spec.NodeName = "node-1"
			return one(Companion(LabeledPodOf(owner), minimal, config))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all, err := made()
			g.Expect(err).NotTo(HaveOccurred())
			var got []byte
			for _, c := range all {
				if c.Desired == nil {
					continue
				}
				text, err := yaml.Marshal(c.Desired.Object)
				g.Expect(err).NotTo(HaveOccurred())
				got = append(append(got, "---\n"...), text...)
			}
			file := filepath.Join("testdata", name+".yaml")
			if os.Getenv("UPDATE") != "" {
				g.Expect(os.WriteFile(file, got, 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(got)).To(Equal(string(want)), "the children differ from %s: UPDATE=1 rewrites the file", file)
		})
	}
}

func TestDesired_omitsDisabledChildren(t *testing.T) {
	off := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.DisruptionBudget.Enabled = new(false)
		e.Spec.Ingress = &v1.EchoIngress{Host: "a.example.com"}
		e.Spec.NetworkPolicy, e.Spec.Monitoring = &v1.EchoNetworkPolicy{}, &v1.EchoMonitoring{}
		e.Spec.Gateway = &v1.EchoGateway{ParentRefs: []v1.EchoGatewayReference{{Name: "g"}}, GRPC: &v1.EchoGatewayGRPC{}, BackendTLS: &v1.EchoGatewayBackendTLS{}}
	})
	all, err := Desired(off, Config{Images: Images{EchoServer: "i"}, Served: allServed()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, c := range append(all, PodMonitor(off)) {
		if desired := c.Kind == "Deployment" || c.Kind == "Service"; desired != (c.Desired != nil) {
			t.Errorf("%s: wanted is %t", c.Kind, c.Desired != nil)
		}
	}
}

// TestTable_rows checks that each row has the Go type for its kind and names a field, and that each kind has exactly one row.
func TestTable_rows(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Table() {
		object := k.NewObject()
		_, untyped := object.(*unstructured.Unstructured)
		if name := reflect.TypeOf(object).Elem().Name(); !untyped && name != k.Kind || seen[k.Kind] {
			t.Errorf("the row of %s has an object of type %T, or is there twice", k.Kind, object)
		}
		seen[k.Kind] = true
		if FieldOf(k.Kind) != k.Field || k.Field == "" {
			t.Errorf("messages about a %s name no field of an Echo: set Field in its row", k.Kind)
		}
	}
}

// TestTable_everyField checks that an Echo with support.EveryField has a child of each kind. Most tests rely on this.
func TestTable_everyField(t *testing.T) {
	all, err := Desired(support.Echo("ns", "x", support.EveryField), Config{Images: Images{EchoServer: "i"}, Served: allServed()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for i, k := range kindsOfEcho(allServed()) {
		switch desired := all[i].Desired; {
		case desired == nil:
			t.Errorf("no %s is desired: request it in tests/support/echoes.go", k.Kind)
		case desired.GroupVersionKind() != k.GroupVersionKind:
			t.Errorf("the desired object is a %s, but the row is for %s", desired.GroupVersionKind(), k.GroupVersionKind)
		}
	}
}

func TestUnserved(t *testing.T) {
	routed := func(e *v1.Echo) {
		e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "g"}}}
	}
	grpc := func(e *v1.Echo) { e.Spec.Gateway.GRPC = &v1.EchoGatewayGRPC{Hostnames: []string{"g.example.com"}} }
	for name, c := range map[string]struct {
		echo   *v1.Echo
		served Served
		want   []string
	}{
		"no gateway":        {support.Echo("ns", "x"), nil, nil},
		"nothing is served": {support.Echo("ns", "x", routed, grpc), nil, []string{"HTTPRoute", "GRPCRoute"}},
		"an older version":  {support.Echo("ns", "x", routed, grpc), Served{"HTTPRoute": true}, []string{"GRPCRoute"}},
		"it is not desired": {support.Echo("ns", "x", routed), Served{"HTTPRoute": true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Unserved(c.echo, c.served)).To(HaveExactElements(c.want))
			all, err := Desired(c.echo, Config{Served: c.served})
			if err != nil || len(all) != len(Kinds(nil))+len(c.served) {
				t.Errorf("%d children, %v", len(all), err)
			}
		})
	}
}

// generatedChildren returns all objects that an Echo requires, including a companion.
func generatedChildren(t *testing.T, echo *v1.Echo) []Child {
	t.Helper()
	all, err := Desired(echo, testConfig)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	companion, err := Companion(labeledPod(), echo, testConfig)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(append(all, companion), func(c Child) bool { return c.Desired == nil })
}

func TestDesired_isDeterministic(t *testing.T) {
	rounded := support.EchoOfCompanions(func(e *v1.Echo) {
		e.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.0005")}}
	})
	for _, echo := range append(support.Variants(), rounded) {
		before := echo.DeepCopy()
		all := generatedChildren(t, echo)
		for i, again := range generatedChildren(t, echo.DeepCopy()) {
			NewWithT(t).Expect(again.Desired).To(BeComparableTo(all[i].Desired), "a %s differs from the one before", again.Kind)
		}
		NewWithT(t).Expect(echo).To(BeComparableTo(before), "the Echo itself, which belongs to the cache, was changed")
	}
}

func TestFirstParty(t *testing.T) {
	const own = "registry.example.com:5000/mirror/echo-server@sha256:0123"
	for image, want := range map[string]bool{
		own: true,
		"registry.example.com:5000/mirror/echo-server":             true,
		"registry.example.com:5000/mirror/echo-server:v2":          true,
		"registry.example.com:5000/mirror/echo-server:v2@sha256:9": true,
		"registry.example.com/mirror/echo-server":                  false,
		"registry.example.com:5000/mirror/echo-server-fork:v2":     false,
		"nginx": false,
	} {
		NewWithT(t).Expect((Images{EchoServer: own}).FirstParty(image)).To(Equal(want), "firstParty(%s)", image)
	}
}

func monitored(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: new(true)} }

func TestIsMonitoredAs(t *testing.T) {
	want := PodMonitor(support.Echo("ns", "x", monitored)).Desired
	spec := func(o *unstructured.Unstructured) map[string]any { return o.Object["spec"].(map[string]any) }
	endpoint := func(o *unstructured.Unstructured) map[string]any {
		return spec(o)["podMetricsEndpoints"].([]any)[0].(map[string]any)
	}
	for name, c := range map[string]struct {
		change func(*unstructured.Unstructured)
		same   bool
	}{
		"nothing":                   {func(*unstructured.Unstructured) {}, true},
		"a default":                 {func(o *unstructured.Unstructured) { endpoint(o)["filterRunning"] = true }, true},
		"a field of another client": {func(o *unstructured.Unstructured) { spec(o)["sampleLimit"] = int64(5) }, true},
		"a label of another client": {func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"team": "a"})
			all := o.GetLabels()
			maps.Copy(all, want.GetLabels())
			o.SetLabels(all)
		}, true},
		"another port": {func(o *unstructured.Unstructured) { endpoint(o)["port"] = "http" }, false},
		"a second endpoint": {func(o *unstructured.Unstructured) {
			spec(o)["podMetricsEndpoints"] = []any{endpoint(o), map[string]any{"port": "http"}}
		}, false},
		"no endpoint": {func(o *unstructured.Unstructured) { spec(o)["podMetricsEndpoints"] = []any{} }, false},
		"a selector with more labels": {func(o *unstructured.Unstructured) {
			spec(o)["selector"].(map[string]any)["matchLabels"].(map[string]any)["team"] = "a"
		}, false},
		"no selector": {func(o *unstructured.Unstructured) { delete(spec(o), "selector") }, false},
		"a missing label": {func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{LabelManagedBy: FieldOwner})
		}, false},
		"no spec, no metadata": {func(o *unstructured.Unstructured) { o.Object = map[string]any{} }, false},
	} {
		live := want.DeepCopy()
		c.change(live)
		NewWithT(t).Expect(IsMonitoredAs(live, want)).To(Equal(c.same), name)
	}
}
