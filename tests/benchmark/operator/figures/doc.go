// Package figures stores the figures of a benchmark run, and reports them next to their limits and goals.
package figures
