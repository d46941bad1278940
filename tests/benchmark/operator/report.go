package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	mega = 1e6
	// noGoal marks rows that only inform.
	noGoal = -1
)

// figures contains the measured values by name, in the order of the rounds.
type figures map[string][]float64

// row describes a row of the table.
type row struct {
	metric string
	name   string // of the figure
	// compared is the name of another program's figure, or empty.
	compared string
	// goal is the greatest good ratio of the figures, or the greatest good value if there is no other program.
	goal   float64
	unit   string
	digits int
}

// rows returns the rows of the table, in order. The table omits rows without figures.
func (b *benchmark) rows() []row {
	rss := map[int][]float64{2000: {110, 140}, 10_000: {320, noGoal}}[b.large]
	if rss == nil {
		rss = []float64{noGoal, noGoal}
	}
	echoes := strconv.Itoa(b.large) + " Echoes"
	return []row{
		{"requests for an Echo that exists", "there.operator.requests", "there.raw.requests", 1.01, "", 3},
		{"requests for an Echo that arrives", "arriving.operator.requests", "arriving.raw.requests", 1.01, "", 3},
		{"conflicts for an Echo that exists", "there.operator.conflicts", "", 0, "", 3},
		{"conflicts for an Echo that arrives", "arriving.operator.conflicts", "", 0, "", 3},
		{"reconciles of an Echo that exists", "there.operator.reconciles", "", 2.2, "", 2},
		{"reconciles of an Echo that arrives", "arriving.operator.reconciles", "", 2.2, "", 2},
		{"CPU of all for an Echo that exists", "there.operator.cpu.sum", "there.raw.cpu.sum", 1.25, "ms", 2},
		{"CPU of all for an Echo that arrives", "arriving.operator.cpu.sum", "arriving.raw.cpu.sum", 1.35, "ms", 2},
		{"CPU of the operator for an Echo that exists", "there.operator.cpu", "there.raw.cpu", noGoal, "ms", 2},
		{"CPU of the operator for an Echo that arrives", "arriving.operator.cpu", "arriving.raw.cpu", noGoal, "ms", 2},
		{"requests of a start, " + echoes, "restart.requests", "", 20, "", 0},
		{"writes of a start, " + echoes, "restart.writes", "", 0, "", 0},
		{"requests in 2 minutes at rest", "rest.requests", "", 0, "", 0},
		{"RSS, " + echoes, "restart.resident", "", rss[0], "MB", 1},
		{"RSS, " + echoes + " with 2 pods each", "restart.pods.resident", "", rss[1], "MB", 1},
		{"failover, clean", "failover.clean", "", 2.5, "s", 2},
		{"failover, killed", "failover.killed", "", 20, "s", 2},
		{"time of a reconcile that changes nothing, 4,000 pods in the namespace", "noop.time", "", 1, "ms", 2},
		{"operator", "size.operator", "", 55, "MB", 1},
		{"echo server", "size.echoServer", "", 12, "MB", 1},
		{"kubectl-echo", "size.kubectlEcho", "", 42, "MB", 1},
	}
}

// table returns the table of the measured rows. The values are medians, with ranges in parentheses.
func (f figures) table(rows []row) string {
	var text strings.Builder
	text.WriteString("| metric | measured | compared with | ratio | goal | met |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if len(f[r.name]) > 0 {
			text.WriteString("| " + strings.Join(r.cells(f[r.name], f[r.compared]), " | ") + " |\n")
		}
	}
	return text.String()
}

func (r row) cells(measured, compared []float64) []string {
	cells := []string{r.metric, spread(measured, r.digits, r.unit), "-", "-", "-", "-"}
	judged, unit := measured, r.unit
	if len(compared) > 0 {
		judged, unit = make([]float64, len(measured)), "x"
		for i, value := range measured {
			judged[i] = value / compared[min(i, len(compared)-1)]
		}
		cells[2], cells[3] = spread(compared, r.digits, r.unit), spread(judged, 2, "")
	}
	if r.goal != noGoal {
		cells[4] = strings.TrimSuffix("<= "+strconv.FormatFloat(r.goal, 'f', -1, 64)+" "+unit, " ")
		cells[5] = map[bool]string{true: "yes", false: "**no**"}[median(judged) <= r.goal]
	}
	return cells
}

// spread returns a median, and the range if there are several values.
func spread(values []float64, digits int, unit string) string {
	text := strconv.FormatFloat(median(values), 'f', digits, 64)
	if len(values) > 1 {
		text += fmt.Sprintf(" (%.*f-%.*f)", digits, slices.Min(values), digits, slices.Max(values))
	}
	return strings.TrimSuffix(text+" "+unit, " ")
}

// median returns the median of values. The slice must not be empty.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
