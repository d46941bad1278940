package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const alertsBegin, alertsEnd = "<!-- made by make generate from internal/telemetry/alerts.yaml -->\n", "<!-- end alerts -->"

func withAlerts(file, alerts string) (string, error) {
	var read struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For string
				Labels           struct{ Severity string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(alerts), &read); err != nil {
		return "", err
	}
	var rows strings.Builder
	for _, group := range read.Groups {
		for _, rule := range group.Rules {
			fmt.Fprintf(&rows, "| [%[1]s](../runbooks/%[1]s.md) | %[2]s | `%[3]s` | %[4]s |\n",
				rule.Alert, rule.Labels.Severity, condition(rule.Expr), rule.For)
		}
	}
	place := regexp.MustCompile("(?s)" + alertsBegin + ".*?" + alertsEnd)
	table := "| alert | severity | condition | for |\n|---|---|---|---|\n" + rows.String()
	return replaced(file, place, func(string) string { return alertsBegin + table + alertsEnd })
}

// condition returns the comparison in an expression. It omits the job label and the aggregation.
func condition(expression string) string {
	expression = strings.ReplaceAll(regexp.MustCompile(`job="[^"]*"(, )?`).ReplaceAllString(expression, ""), "{}", "")
	return regexp.MustCompile(`\b(?:sum|max) by \([^)]*\) \((.*)\)( [<=>]+ \d+)$`).ReplaceAllString(expression, "$1$2")
}

const panelsBegin, panelsEnd = "<!-- made by make generate from config/grafana/echo-operator.json -->\n", "<!-- end panels -->"

// panel is a dashboard panel, or the heading of a row of panels.
type panel struct {
	Title, Type, Description string
	Targets                  []struct{ Expr string }
}

// withPanels updates the table of the dashboard's panels in a file.
func withPanels(file, dashboard string) (string, error) {
	var read struct{ Panels []panel }
	if err := json.Unmarshal([]byte(dashboard), &read); err != nil {
		return "", err
	}
	var rows strings.Builder
	for _, p := range read.Panels {
		if p.Type == "row" {
			fmt.Fprintf(&rows, "| **%s** | | |\n", p.Title)
			continue
		}
		if p.Description == "" {
			return "", errors.New("the panel " + p.Title + " has no description with the question that it answers")
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", p.Title, p.Description, strings.Join(metricsOf(p), ", "))
	}
	place := regexp.MustCompile("(?s)" + panelsBegin + ".*?" + panelsEnd)
	table := "| panel | question | metrics |\n|---|---|---|\n" + rows.String()
	return replaced(file, place, func(string) string { return panelsBegin + table + panelsEnd })
}

// metricsOf returns the metrics that a panel's queries read, in Markdown code spans.
func metricsOf(p panel) []string {
	labels := regexp.MustCompile(`\bby \([^)]*\)|\{[^}]*\}|\[[^\]]*\]`)
	names := regexp.MustCompile(`\b[a-z]\w*\b( *\()?`)
	var metrics []string
	for _, target := range p.Targets {
		for _, name := range names.FindAllString(labels.ReplaceAllString(target.Expr, ""), -1) {
			if code := "`" + name + "`"; !strings.HasSuffix(name, "(") && name != "or" && !slices.Contains(metrics, code) {
				metrics = append(metrics, code)
			}
		}
	}
	return metrics
}
