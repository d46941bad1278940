package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestPanelsAreOfTypesThatTheConsoleShows checks that the console supports the types of all panels, because the console shows nothing for
// other types.
func TestPanelsAreOfTypesThatTheConsoleShows(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, []string{"../../../config/grafana/echo-operator.json"}); err != nil {
		t.Fatal(err)
	}
	var object struct{ Data map[string]string }
	if err := yaml.Unmarshal(out.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr, Datasource any }
		}
	}
	if err := json.Unmarshal([]byte(object.Data["echo-operator.json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		if !slices.Contains([]string{"row", "gauge", "grafana-piechart-panel", "graph", "singlestat", "table"}, panel.Type) {
			t.Errorf("the console does not show %q: its type is %s", panel.Title, panel.Type)
		}
		for _, target := range panel.Targets {
			if target.Expr == "" || target.Datasource != nil {
				t.Errorf("the target of %q is %+v", panel.Title, target)
			}
		}
	}
}
