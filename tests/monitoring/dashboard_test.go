package monitoring

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

type panel struct {
	Title   string `json:"title"`
	Targets []struct {
		Expression string `json:"expr"`
	} `json:"targets"`
}

func dashboard() []panel {
	GinkgoHelper()
	var content struct {
		Panels []panel `json:"panels"`
	}
	Expect(json.Unmarshal([]byte(support.Read("config/grafana/echo-operator.json")), &content)).To(Succeed())
	return content.Panels
}

// withoutData returns the dashboard's queries that return no numbers.
func withoutData(ctx context.Context, g Gomega, p realcluster.Prometheus) []string {
	var empty []string
	for _, panel := range dashboard() {
		for _, target := range panel.Targets {
			numbers := 0
			for _, s := range p.Query(ctx, g, target.Expression) {
				if value, _ := s.Value[1].(string); value != "" && !strings.Contains(value, "NaN") {
					numbers++
				}
			}
			if numbers == 0 {
				empty = append(empty, panel.Title+": "+target.Expression)
			}
		}
	}
	return empty
}
