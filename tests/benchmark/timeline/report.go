package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report contains the measured values.
type report struct {
	Echoes int    `json:"echoes"`
	Steps  []row  `json:"steps"`
	Share  shares `json:"operator"`
	// Lines contains the timelines of the Echoes, in milliseconds.
	Lines []map[string]float64 `json:"lines"`
}

// row contains the measured values of a step.
type row struct {
	Name  string `json:"name"`
	By    string `json:"by"`
	After string `json:"after,omitempty"`
	// The percentiles in SinceApply and SinceAfter are in milliseconds.
	SinceApply percentiles `json:"sinceApply"`
	SinceAfter percentiles `json:"sinceAfter"`
}

// shares contains the time that Echoes waited for the operator, in milliseconds and as a percentage of the time until they were ready.
type shares struct {
	Milliseconds percentiles `json:"milliseconds"`
	Percent      percentiles `json:"percent"`
}

// percentiles contains the median and the 99th percentile.
type percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// percentilesOf uses the nearest-rank method. The slice must not be empty.
func percentilesOf(values []float64) percentiles {
	sorted := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 { return sorted[int(math.Ceil(part*float64(len(sorted))))-1] }
	return percentiles{at(0.50), at(0.99)}
}

// newReport summarizes timelines. The slice must not be empty.
func newReport(lines []line) report {
	over := func(value func(line) float64) percentiles {
		var values []float64
		for _, l := range lines {
			values = append(values, value(l))
		}
		return percentilesOf(values)
	}
	r := report{Echoes: len(lines)}
	for _, s := range steps() {
		r.Steps = append(r.Steps, row{s.name, s.by, s.after,
			over(func(l line) float64 { return milliseconds(l[s.name]) }),
			over(func(l line) float64 { return milliseconds(l.took(s)) })})
	}
	r.Share.Milliseconds = over(func(l line) float64 { return milliseconds(l.share()) })
	r.Share.Percent = over(func(l line) float64 { return 100 * l.share().Seconds() / l[ready].Seconds() })
	for _, l := range lines {
		r.Lines = append(r.Lines, l.milliseconds())
	}
	return r
}

func (l line) milliseconds() map[string]float64 {
	figures := map[string]float64{}
	for name, at := range l {
		figures[name] = milliseconds(at)
	}
	return figures
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// write prints the report's table. It saves all measured values in a file if the path is not empty.
func (r report) write(w io.Writer, path string) error {
	_, err := io.WriteString(w, r.table())
	if path == "" {
		return err
	}
	text, problem := json.MarshalIndent(r, "", "\t")
	if err := errors.Join(err, problem); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// table returns a table of the steps and of the operator's share.
func (r report) table() string {
	var text strings.Builder
	text.WriteString("| step | by | p50 since apply | p99 | after | p50 since then | p99 |\n|---|---|---|---|---|---|---|\n")
	for _, s := range r.Steps {
		cells := []string{s.Name, s.By, number(s.SinceApply.P50), number(s.SinceApply.P99), "apply", number(s.SinceAfter.P50),
			number(s.SinceAfter.P99)}
		if s.After != "" {
			cells[4] = s.After
		}
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	fmt.Fprintf(&text,
		"\nMilliseconds, of %d Echoes with one replica, created one after another. Until an Echo is ready, it waits for the operator for %s ms "+
			"(p50; p99 %s),\n"+
			"which is %s %% of the time (p50; p99 %s): for the finalizer, for the Deployment, and for the status when the Deployment is "+
			"available.\n",
		r.Echoes, number(r.Share.Milliseconds.P50), number(r.Share.Milliseconds.P99), number(r.Share.Percent.P50), number(r.Share.Percent.P99))
	return text.String()
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', 1, 64) }
