package main

import (
	"fmt"
	"regexp"
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
