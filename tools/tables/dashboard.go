package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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
