package scorecard

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestRun_rejectsUnknownTests checks that the error for an unknown test name, such as a typo in a scorecard configuration, lists the known
// tests.
func TestRun_rejectsUnknownTests(t *testing.T) {
	for _, name := range []string{"", "Examples", "example"} {
		problems, err := newWorld(t).run(t.Context(), name, ownBundle(t))
		if err == nil || len(problems) > 0 {
			t.Fatalf("%q: the problems are %q, %v", name, problems, err)
		}
		for _, known := range []string{`"` + name + `"`, "descriptors", "examples", "permissions", "restricted"} {
			if !strings.Contains(err.Error(), known) {
				t.Errorf("%q: %v, want %s", name, err, known)
			}
		}
	}
}

func TestRun(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, c := range map[string]struct{ test, folder, namespace, state, want string }{
		"a test without a cluster": {"descriptors", "../../bundle", "", "pass", ""},
		"without a bundle":         {"descriptors", "nowhere", "", "error", "nowhere/manifests"},
		"without a namespace":      {"restricted", "../../bundle", "", "error", "SCORECARD_NAMESPACE is not set"},
		"outside of a pod":         {"restricted", "../../bundle", "echo-scorecard", "error", rest.ErrNotInCluster.Error()},
	} {
		got := run(t.Context(), c.test, c.folder, c.namespace)
		if got.Name != c.test || got.State != c.state || !strings.Contains(strings.Join(got.Errors, "\n"), c.want) {
			t.Errorf("%s: %+v, want %s, %q", name, got, c.state, c.want)
		}
	}
}

func TestResultOf(t *testing.T) {
	for want, r := range map[string]Result{
		`{"name":"a","state":"pass","log":"went well"}`:            resultOf("a", nil, nil, "went well"),
		`{"name":"a","state":"fail","errors":["x"]}`:               resultOf("a", []string{"x"}, nil, ""),
		`{"name":"a","state":"error","errors":["x","no cluster"]}`: resultOf("a", []string{"x"}, errors.New("no cluster"), ""),
	} {
		if got, err := json.Marshal(r); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
