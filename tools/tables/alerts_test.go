package main

import "testing"

func TestWithAlerts(t *testing.T) {
	const file = "before\n" + alertsBegin + "old\n" + alertsEnd + "\nafter"
	got, err := withAlerts(file, "groups: [{rules: [{alert: Down, expr: 'absent(up == 1)', for: 5m, labels: {severity: critical}}]}]")
	want := "before\n" + alertsBegin + "| alert | severity | condition | for |\n|---|---|---|---|\n" +
		"| [Down](../runbooks/Down.md) | critical | `absent(up == 1)` | 5m |\n" + alertsEnd + "\nafter"
	if err != nil || got != want {
		t.Errorf("%v:\n%s", err, got)
	}
	if _, err := withAlerts(file, "groups: no list"); err == nil {
		t.Error("no error for a value that is not a list")
	}
}

func TestCondition(t *testing.T) {
	for expression, want := range map[string]string{
		`absent(up{job="x"} == 1)`:                          `absent(up == 1)`,
		`time() - max by (a, b) (c{job="x"}) > 600`:         `time() - c > 600`,
		`sum by (a) (increase(c{job="x", d="e"}[10m])) > 5`: `increase(c{d="e"}[10m]) > 5`,
		`c_seconds - time() < 7 * 24 * 3600`:                `c_seconds - time() < 7 * 24 * 3600`,
	} {
		if got := condition(expression); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
}
