package figures

import "slices"

// Set contains the measured values by name, in the order of the rounds.
type Set map[string][]float64

// Add adds a figure from one round.
func (f Set) Add(name string, value float64) { f[name] = append(f[name], value) }

// Last returns the figure from the last round.
func (f Set) Last(name string) float64 { return f[name][len(f[name])-1] }

// spread is a median with its range.
type spread struct{ median, least, most float64 }

// spreadOf returns the spread of values. The slice must not be empty.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{median, sorted[0], sorted[len(sorted)-1]}
}

// quotients divides values by the divisors from the same rounds. A single divisor applies to all values.
func quotients(values, by []float64) []float64 {
	var result []float64
	for i, value := range values {
		result = append(result, value/by[min(i, len(by)-1)])
	}
	return result
}
