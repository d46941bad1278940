package kubectlecho

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namesOnly is a fake API server that holds names by path, and rejects requests for anything but names.
type namesOnly map[string][]string

// ServeHTTP implements http.Handler.
func (n namesOnly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	names, found := n[r.URL.Path]
	if !found || r.Header.Get("Accept") != "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	list := metav1.PartialObjectMetadataList{}
	for _, name := range names {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{Name: name})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// expectCompletions runs the command that kubectl runs to complete the last word of a command line. The directive is 0 if file names can
// complete the word, 4 if they cannot, and 6 if they cannot and no space follows the word.
func expectCompletions(t *testing.T, line []string, want string) {
	t.Helper()
	code, stdout, stderr := run(t, append([]string{"__complete"}, line...)...)
	if stdout = strings.Join(strings.Fields(stdout), " "); code != 0 || stdout != want {
		t.Errorf("%q: the exit code is %d, and it printed %q", line, code, stdout)
	}
	if !strings.HasPrefix(stderr, "Completion ended with directive: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%q: it printed the errors %q", line, stderr)
	}
}

func TestNames_fromAPIServer(t *testing.T) {
	server := httptest.NewServer(namesOnly{"/apis/example.com/v1/namespaces/default/echoes": {"web"},
		"/apis/example.com/v1/namespaces/shop/echoes": {"api", "web", "web-2"}, "/api/v1/namespaces": {"default", "shop"}})
	t.Cleanup(server.Close)
	for line, want := range map[string]string{
		"status ":                       "web :4",
		"status -n shop ":               "api web web-2 :4",
		"status --namespace=shop we":    "web web-2 :4",
		"test -n shop ":                 "api web web-2 :4",
		"test -n shop x":                ":4",
		"test -n shop --requests=3 api": "api :4",
		"status -n forbidden ":          ":4",
		"status -n shop web ":           ":4",
		"test -n shop web ":             ":4",
		"status -A ":                    ":4",
		"status -n ":                    "default shop :4",
		"test --namespace s":            "shop :4",
		"path --namespace=s":            "shop :4",
	} {
		words := strings.Split(line, " ")
		expectCompletions(t, append([]string{words[0], "--server=" + server.URL}, words[1:]...), want)
	}
}

func TestNames_emptyWithoutAPIServer(t *testing.T) {
	for _, line := range [][]string{{"status", "--server=http://127.0.0.1:1", ""}, {"test", "--server=http://127.0.0.1:1", "w"},
		{"status", "--server=http://127.0.0.1:1", "-n", ""}, {"status", "--server=://", ""}, {"status", "--server=://", "-n", ""},
		{"status", "--kubeconfig=/nowhere", ""}, {"status", "--kubeconfig=/nowhere", "--context", ""}} {
		expectCompletions(t, line, ":4")
	}
}

func TestCompleteFlags_readsKubeconfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{contexts: [{name: one, context: {}}, {name: two, context: {}}], clusters: [{name: test, cluster: {}}],
		users: [{name: me, user: {}}]}`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--context=": "one two :4", "--context=t": "two :4", "--cluster=": "test :4",
		"--user=": "me :4"} {
		expectCompletions(t, []string{"status", "--kubeconfig=" + path, flag}, want)
	}
}

func TestCompleteFlag_listsValues(t *testing.T) {
	for line, want := range map[string]string{
		"status -o ":                  "json :4",
		"path -o ":                    "expect html json text :4",
		"path ":                       ":4",
		"path --groups re":            "request response retries :6",
		"path --groups body,client,t": "body,client,tls body,client,timeouts :6",
		"status --kubeconfig ":        ":0",
	} {
		expectCompletions(t, strings.Split(line, " "), want)
	}
}

func TestRun_completesCommands(t *testing.T) {
	_, stdout, _ := run(t, "__completeNoDesc", "")
	if stdout = strings.Join(strings.Fields(stdout), " "); stdout != "help path status test :4" {
		t.Errorf("it printed %q", stdout)
	}
}
