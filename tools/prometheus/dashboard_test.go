package prometheus

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestDashboard_queries checks that Prometheus can parse the dashboard's queries.
func TestDashboard_queries(t *testing.T) {
	text, err := os.ReadFile("../../config/grafana/echo-operator.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct {
				Expression string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(target.Expression); err != nil {
				t.Errorf("%s: %v", target.Expression, err)
			}
		}
	}
	if queries == 0 {
		t.Error("the dashboard has no queries")
	}
}
