package mustgather

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/internal/kinds"
)

// gathered runs the program with a kubeconfig for a server, and returns the output and the directory with the files.
func gathered(t *testing.T, handler http.HandlerFunc, arguments ...string) (output, folder string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}",
		server.URL)
	NewWithT(t).Expect(os.WriteFile(kubeconfig, []byte(text), 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", kubeconfig)
	folder = filepath.Join(t.TempDir(), "out")
	out := &bytes.Buffer{}
	err = Run(t.Context(), "dev", append(arguments, "--dest-dir="+folder), func(string) string { return "" }, out)
	return out.String(), folder, err
}

func content(t *testing.T, folder, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

const version136Text = `{"gitVersion": "v1.36.3"}`

func version136(w http.ResponseWriter) { _, _ = w.Write([]byte(version136Text)) }

// TestRun_reportsMissingPermissions covers users who have no permission, and users who have permissions in one namespace only.
func TestRun_reportsMissingPermissions(t *testing.T) {
	all := everyKind(t)
	const cannotList = `echoes.example.com: echoes.example.com is forbidden: User "jane" cannot list resource "echoes" in API group "example.com"` +
		" at the cluster scope\n"
	for name, c := range map[string]struct {
		arguments []string
		allowed   string // a part of the paths of the requests that are allowed
		missed    []string
		written   string
	}{
		"nothing":       {nil, "none", []string{cannotList, "the version of Kubernetes: "}, ""},
		"one namespace": {[]string{"--namespace=team"}, "/namespaces/team/", []string{"customresourcedefinitions.apiextensions.k8s.io/echoes.example.com: "}, "namespaces/team/example.com/echoes.yaml"},
		"only one of the kinds": {nil, "/echoes", []string{"pods: pods is forbidden", "deployments.apps: ", "events.events.k8s.io: ",
			"deployments.apps/web in the namespace team: ", "subscriptions.operators.coreos.com: "}, "namespaces/team/example.com/echoes.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			output, folder, err := gathered(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, c.allowed) {
					all(w, r)
					return
				}
				forbid(w, r)
			}, c.arguments...)
			if (err == nil) != (c.written != "") {
				t.Error("the error is", err)
			}
			missed := content(t, folder, "not-read.txt")
			for _, want := range c.missed {
				if !strings.Contains(missed, want) || !strings.Contains(output, "could not read "+strings.TrimSpace(want)) {
					t.Errorf("%q is missing in\n%s", want, missed)
				}
			}
			if !strings.HasSuffix(output, "with --namespace and --operator-namespace.\n") {
				t.Error("the output gives no advice:", output)
			}
			if c.written != "" && !slices.Contains(filesIn(t, folder), c.written) {
				t.Errorf("%s is missing in %v", c.written, filesIn(t, folder))
			}
		})
	}
}

// forbid rejects a request as the API server does.
func forbid(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	group, resource := parts[0], parts[len(parts)-1]
	status := apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "",
		fmt.Errorf("User %q cannot list resource %q in API group %q at the cluster scope", "jane", resource, group)).ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(status)
}

func TestRun_reportsRequestTimeout(t *testing.T) {
	_, folder, err := gathered(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			version136(w)
			return
		}
		<-r.Context().Done()
	}, "--timeout=1s")
	if err == nil || !strings.Contains(err.Error(), "nothing could be read") {
		t.Error("the error is", err)
	}
	if missed := content(t, folder, "not-read.txt"); !strings.Contains(missed, context.DeadlineExceeded.Error()) {
		t.Error("the timeout is not reported:", missed)
	}
}

func TestRun_writesNothingWithoutAPIServer(t *testing.T) {
	_, folder, err := gathered(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) },
		"--timeout=1s")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("does not respond")))
	if _, err := os.Stat(folder); err == nil {
		t.Error("the directory was created")
	}
}

func TestRun_rejectsUnknownArguments(t *testing.T) {
	err := Run(t.Context(), "dev", []string{"logs"}, func(string) string { return "" }, &bytes.Buffer{})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`unknown argument "logs"`)))
}

func TestParse_usesMustGatherFolderInPod(t *testing.T) {
	o, err := parse("dev", nil, func(string) string { return "10.0.0.1" }, io.Discard)
	if err != nil || o.folder != "/must-gather" || o.timeout < time.Minute {
		t.Errorf("the options are %+v: %v", o, err)
	}
}

func TestIsAbout(t *testing.T) {
	names := map[string]bool{"team/web": true}
	for event, want := range map[string]bool{
		"{kind: Echo, namespace: team, name: web}":                                true,
		"{kind: Pod, namespace: team, name: web-7c9f-x2x4k}":                      true,
		"{kind: ReplicaSet, namespace: team, name: web-7c9f}":                     true,
		"{kind: Pod, namespace: team, name: web-frontend-7c9f-x2x4k}":             false,
		"{kind: Pod, namespace: other, name: web-7c9f-x2x4k}":                     false,
		"{kind: Deployment, namespace: team, name: web-frontend}":                 false,
		"{kind: ReplicaSet, namespace: team, name: webber}":                       false,
		"{kind: Pod, namespace: team, name: web-7c9f-x2x4k-of-something-else-it}": false,
	} {
		NewWithT(t).Expect(isAbout(names, *parsed(t, "regarding: "+event))).To(Equal(want), event)
	}
}

func TestToken_neverUsesPersonalToken(t *testing.T) {
	for _, config := range []*rest.Config{{BearerToken: "of a person"}, {BearerToken: "of a person", BearerTokenFile: "/home/jane/token"}} {
		g := &gatherer{config: config}
		if token, err := g.token(t.Context()); token != "" || err == nil || !strings.Contains(err.Error(), "--metrics-account") {
			t.Errorf("the token is %q: %v", token, err)
		}
	}
	g := &gatherer{config: &rest.Config{BearerToken: "of a pod", BearerTokenFile: podToken}}
	if token, err := g.token(t.Context()); token != "" || err == nil {
		t.Errorf("although it is unknown where the operator runs, the token is %q: %v", token, err)
	}
	g.operatorNamespace = "home"
	if token, err := g.token(t.Context()); token != "of a pod" || err != nil {
		t.Errorf("the token is %q: %v", token, err)
	}
}

// TestRun_writesDocumentedFiles gathers an object of each kind, and compares the files with the tables in the documentation.
func TestRun_writesDocumentedFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/must-gather.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	output, folder, err := gathered(t, everyKind(t))
	if err != nil {
		t.Fatal(err, output)
	}
	if version := content(t, folder, "version") + content(t, folder, "kubernetes-version.json"); version !=
		"echo-operator/must-gather\ndev\n"+version136Text {
		t.Errorf("the versions are %q", version)
	}
	written := append(filesIn(t, folder), "namespaces/home/pods/manager/metrics.txt") // the latter requires a port-forward
	files, resources, documented := map[string]bool{}, map[string]bool{}, map[string]bool{}
	objects := regexp.MustCompile(`^(namespaces/\w+|cluster-scoped-resources)/([a-z0-9.]+)/(\w+)\.yaml$`)
	names := regexp.MustCompile(`^namespaces/\w+(/pods/\w+)?(/echo/echo)?`)
	for _, file := range written {
		if found := objects.FindStringSubmatch(file); found != nil {
			resources[found[2]+" "+found[3]] = true
			file = found[1] + "/GROUP/RESOURCE.yaml"
		}
		files[names.ReplaceAllStringFunc(file, func(found string) string {
			return strings.Join([]string{"namespaces", "NAMESPACE", "pods", "POD", "CONTAINER", "CONTAINER"}[:strings.Count(found, "/")+1], "/")
		})] = true
	}
	rows := rowsOf(string(page), "| file | content |")
	NewWithT(t).Expect(slices.Collect(maps.Keys(files))).To(ConsistOf(slices.Collect(maps.Keys(rows))), "the documented files")
	for _, kind := range kinds.Table() { // the page refers to another page for the kinds that the operator creates
		documented[cmp.Or(kind.Group, "core")+" "+kind.Resource] = true
	}
	for group, row := range rowsOf(string(page), "| GROUP | RESOURCE |") {
		for _, resource := range row {
			documented[group+" "+resource] = true
		}
	}
	NewWithT(t).Expect(resources).To(Equal(documented), "the documented kinds of objects")
}

// everyKind returns an API server that has an object of each kind that must-gather may write.
func everyKind(t *testing.T) http.HandlerFunc {
	t.Helper()
	kindOf := map[string]string{"echoes": "Echo"}
	for kind := range rules(t).kinds {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		kindOf[plural.Resource] = kind
	}
	path := regexp.MustCompile(`^/(?:api|apis/[^/]+)/[^/]+/(?:namespaces/[^/]+/)?([^/]+)(?:/([^/]+))?(/log)?$`)
	return func(w http.ResponseWriter, r *http.Request) {
		found := path.FindStringSubmatch(r.URL.Path)
		switch {
		case r.URL.Path == "/version":
			version136(w)
			return
		case found == nil || kindOf[found[1]] == "":
			http.Error(w, r.URL.Path, http.StatusNotFound)
			return
		case found[3] != "":
			_, _ = w.Write([]byte("a line of a log\n"))
			return
		}
		object := objectOf(kindOf[found[1]], r.FormValue("labelSelector") == operatorSelector)
		text, err := json.Marshal(object)
		if err != nil {
			t.Error(err)
		}
		if found[2] == "" {
			text = fmt.Appendf(nil, `{"kind": "List", "apiVersion": "v1", "items": [%s]}`, text)
		}
		_, _ = w.Write(text)
	}
}

// objectOf returns an object that belongs to the operator or to an Echo.
func objectOf(kind string, ofOperator bool) map[string]any {
	metadata := map[string]any{"namespace": "team", "name": "web", "labels": map[string]any{"app.kubernetes.io/instance": "web"}}
	switch {
	case ofOperator:
		metadata = map[string]any{"namespace": "home", "name": "manager", "labels": map[string]any{"app.kubernetes.io/name": "echo-operator"}}
	case kind == "CustomResourceDefinition":
		metadata = map[string]any{"name": "echoes.example.com"}
	case slices.Contains([]string{"Subscription", "ClusterServiceVersion", "InstallPlan", "OperatorGroup"}, kind):
		metadata = map[string]any{"namespace": "home", "name": "echo-operator.v1"}
	}
	container := map[string]any{"name": "echo", "restartCount": int64(1), "state": map[string]any{"running": map[string]any{}}}
	return map[string]any{"kind": kind, "apiVersion": "v1", "metadata": metadata, "reportingController": "echo-operator",
		"status": map[string]any{"containerStatuses": []any{container}}}
}

func filesIn(t *testing.T, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return files
}

// rowsOf returns the code in the second cell of each row of a table, keyed by the code in the first cell.
func rowsOf(page, heading string) map[string][]string {
	_, table, _ := strings.Cut(page, heading+"\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		for _, first := range codeIn(cells[1]) {
			rows[first] = codeIn(cells[2])
		}
	}
	return rows
}

func codeIn(cell string) (all []string) {
	for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, code[1])
	}
	return all
}
