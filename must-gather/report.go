package main

import (
	"cmp"
	_ "embed"
	"html/template"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

//go:embed report.html
var reportTemplate string

//go:embed advice.yaml
var adviceText []byte

// mostEvents is how many warnings the report shows.
const mostEvents = 200

// report returns a page that sums up what was found.
func (g *gatherer) report() (string, error) {
	advice := map[string]string{}
	if err := yaml.Unmarshal(adviceText, &advice); err != nil {
		return "", err
	}
	page, err := template.New("report").Funcs(template.FuncMap{
		"text": textOf, "number": numberOf, "items": itemsOf, "containers": containersOf, "ready": ready, "explanation": explanation, "folder": podFolder, "seen": seen,
		"advice": func(echo object) string {
			return cmp.Or(advice[cmp.Or(textOf(explanation(echo), "reason"), "none")], advice["other"])
		},
	}).Parse(reportTemplate)
	if err != nil {
		return "", err
	}
	phases, notReady := map[string]int{}, []object{}
	for _, echo := range g.found[echoes] {
		phase := cmp.Or(textOf(echo, "status", "phase"), "no status")
		if phases[phase]++; phase != v1.PhaseReady {
			notReady = append(notReady, echo)
		}
	}
	var out strings.Builder
	err = page.Execute(&out, map[string]any{
		"Version": version, "Time": time.Now().UTC().Format(time.RFC3339), "Server": g.server, "Namespaces": g.namespaces,
		"CRD": g.found[definitions], "Operators": g.operators(), "Pods": ofOperator(g.found[pods]), "Leases": g.found[leases],
		"ClusterServiceVersions": g.found[clusterServiceVersions], "Subscriptions": g.found[subscriptions],
		"Echoes": len(g.found[echoes]), "Phases": phases, "NotReady": notReady, "Denied": g.denied,
		"Warnings": g.warnings(), "Restarts": g.restarts(), "Missed": g.missed,
	})
	return out.String(), err
}

// warnings returns the newest warnings, newest first.
func (g *gatherer) warnings() []object {
	warnings := slices.DeleteFunc(slices.Clone(g.found[events]), func(event object) bool { return textOf(event, "type") != "Warning" })
	slices.SortFunc(warnings, func(a, b object) int { return strings.Compare(seen(b), seen(a)) })
	return warnings[:min(len(warnings), mostEvents)]
}

// seen returns when an event was last seen. The older events API has other fields.
func seen(event object) string {
	last := cmp.Or(textOf(event, "series", "lastObservedTime"), textOf(event, "deprecatedLastTimestamp"), textOf(event, "eventTime"),
		event.GetCreationTimestamp().UTC().Format(time.RFC3339))
	return last[:min(len(last), len("2006-01-02T15:04:05"))]
}

// restarts returns the containers that were restarted, the most often restarted first.
func (g *gatherer) restarts() []container {
	var restarted []container
	for _, pod := range g.found[pods] {
		for _, c := range containersOf(pod) {
			if c.Restarts > 0 {
				restarted = append(restarted, c)
			}
		}
	}
	slices.SortStableFunc(restarted, func(a, b container) int { return cmp.Compare(b.Restarts, a.Restarts) })
	return restarted
}
