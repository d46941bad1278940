package mustgather

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// write writes a file that only its owner can read. If a file cannot be written, the other files are still written.
func (g *gatherer) write(path, content string) {
	path = filepath.Join(g.folder, path)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	g.unwritten = errors.Join(g.unwritten, err)
}

// finish writes the data that was found, and a list of the data that could not be read.
func (g *gatherer) finish() error {
	g.write("version", "echo-operator/must-gather\n"+g.version+"\n") // the format that oc uses
	for kind := range g.found {
		g.writeObjects(kind)
	}
	var lines strings.Builder
	for _, m := range g.missed {
		lines.WriteString(m.What + ": " + m.Why + "\n")
	}
	g.write("not-read.txt", lines.String())
	g.say("wrote %s; could not read %d", g.folder, len(g.missed))
	return g.unwritten
}

// writeObjects writes the objects of a kind to one file for each namespace.
func (g *gatherer) writeObjects(kind string) {
	resource, _ := schema.ParseResourceArg(kind)
	lists := map[string][]any{}
	for _, o := range g.found[kind] {
		folder := "cluster-scoped-resources"
		if o.GetNamespace() != "" {
			folder = filepath.Join("namespaces", o.GetNamespace())
		}
		lists[folder] = append(lists[folder], o.Object)
	}
	for folder, items := range lists {
		text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
		g.unwritten = errors.Join(g.unwritten, err)
		g.write(filepath.Join(folder, cmp.Or(resource.Group, "core"), resource.Resource+".yaml"), string(text))
	}
}
