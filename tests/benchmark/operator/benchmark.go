package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/figures"
)

// benchmark is one run of all selected measurements.
type benchmark struct {
	manager          string // path of the operator's program
	raw, bare        string // paths of the programs to compare with the operator
	kubernetes       string // directory of the Kubernetes controllers
	n, large, rounds int
	inCluster        int // number of Echoes with pods; 0 means none
	pods             int // number of pods of each such Echo
	only             string
	json             string
	began            time.Time

	// record sets the following fields.
	template string         // path of the file with the writes for an Echo
	events   int            // per Echo
	perEcho  map[string]int // number of objects of each kind per Echo

	figures figures.Set
}

// selects reports whether a measurement was selected.
func (b *benchmark) selects(name string) bool {
	return b.only == "" || slices.Contains(strings.Split(b.only, ","), name)
}

// say prints progress.
func (b *benchmark) say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// report prints the tables and writes all figures to a file.
func (b *benchmark) report(w io.Writer) error {
	_, err := io.WriteString(w, b.figures.Table()+b.figures.RequestTable())
	if b.json == "" {
		return err
	}
	text, problem := json.MarshalIndent(b.figures, "", "\t")
	if err := errors.Join(err, problem); err != nil {
		return err
	}
	return os.WriteFile(b.json, append(text, '\n'), 0o644)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
