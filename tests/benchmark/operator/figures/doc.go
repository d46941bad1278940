// Package figures holds the figures of a run of the benchmark, and reports them next to their limits and goals.
package figures
