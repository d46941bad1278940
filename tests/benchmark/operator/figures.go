package main

import "slices"

// figures are what was measured, by name, in the order of the rounds.
type figures map[string][]float64

func (f figures) add(name string, value float64) { f[name] = append(f[name], value) }

// last returns the figure of the last round.
func (f figures) last(name string) float64 { return f[name][len(f[name])-1] }

// spread is a median and what it lies between.
type spread struct{ median, least, most float64 }

// spreadOf returns the spread of values. There is at least one.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{median, sorted[0], sorted[len(sorted)-1]}
}

// combine applies a function to the values of the same rounds.
func combine(a, b []float64, function func(a, b float64) float64) []float64 {
	var values []float64
	for i := range min(len(a), len(b)) {
		values = append(values, function(a[i], b[i]))
	}
	return values
}

func quotient(a, b float64) float64   { return a / b }
func difference(a, b float64) float64 { return a - b }
