package mustgather

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRun_writesDocumentedFiles gathers data from a cluster that has an object of each kind, and compares the files with the tables in the
// documentation.
func TestRun_writesDocumentedFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/must-gather.md")
	if err != nil {
		t.Fatal(err)
	}
	output, folder, err := gathered(t, everyKind(t))
	if err != nil {
		t.Fatal(err, output)
	}
	written := append(filesIn(t, folder), "namespaces/home/pods/manager/metrics.txt") // the latter requires a port-forward
	var files, kinds []string
	objects := regexp.MustCompile(`^(namespaces/\w+|cluster-scoped-resources)/([a-z0-9.]+)/(\w+)\.yaml$`)
	names := regexp.MustCompile(`^namespaces/\w+(/pods/\w+)?(/echo/echo)?`)
	for _, file := range written {
		if found := objects.FindStringSubmatch(file); found != nil {
			kinds = append(kinds, found[2]+" "+found[3])
			file = found[1] + "/GROUP/RESOURCE.yaml"
		}
		files = append(files, names.ReplaceAllStringFunc(file, func(found string) string {
			return strings.Join([]string{"namespaces", "NAMESPACE", "pods", "POD", "CONTAINER", "CONTAINER"}[:strings.Count(found, "/")+1], "/")
		}))
	}
	expectSame(t, "files", firstCells(string(page), "| file | content |"), files)
	var documented []string
	for group, resources := range rowsOf(string(page), "| GROUP | RESOURCE |") {
		for _, resource := range resources {
			documented = append(documented, group+" "+resource)
		}
	}
	expectSame(t, "kinds of objects", documented, kinds)
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
	if err != nil {
		t.Fatal(err)
	}
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

func firstCells(page, heading string) []string {
	return slices.Collect(maps.Keys(rowsOf(page, heading)))
}

func codeIn(cell string) (all []string) {
	for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, code[1])
	}
	return all
}

func expectSame(t *testing.T, what string, documented, written []string) {
	t.Helper()
	for _, list := range []*[]string{&documented, &written} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if !slices.Equal(documented, written) {
		t.Errorf("docs/reference/must-gather.md lists the %s\n%s\nbut these are written:\n%s", what, strings.Join(documented, "\n"),
			strings.Join(written, "\n"))
	}
}
