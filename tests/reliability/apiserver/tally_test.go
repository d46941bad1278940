package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally counts the steps of walks and other occurrences.
type tally struct {
	lock  sync.Mutex
	began time.Time
	steps map[string]int
	notes map[string]int
}

func (c *tally) step(kind string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.steps == nil {
		c.steps, c.began = map[string]int{}, time.Now()
	}
	c.steps[kind]++
}

// note counts anything other than a step.
func (c *tally) note(what string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.notes == nil {
		c.notes = map[string]int{}
	}
	c.notes[what]++
}

// String returns the counts as a table.
func (c *tally) String() string {
	c.lock.Lock()
	defer c.lock.Unlock()
	total := 0
	text := &strings.Builder{}
	for _, counts := range []map[string]int{c.steps, c.notes} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(text, "\n%6d %s", counts[name], name)
		}
	}
	for _, count := range c.steps {
		total += count
	}
	if total == 0 {
		return "no steps"
	}
	return fmt.Sprintf("%d steps in %.0f s, %.1f per second%s\n%6d violations", total, time.Since(c.began).Seconds(),
		float64(total)/time.Since(c.began).Seconds(), text, c.notes[violations])
}

// violations is the name under which broken promises are counted. While rapid shrinks a walk, it repeats the walk, and each repetition may
// break the promise again.
const violations = "violations, including those found while shrinking"
