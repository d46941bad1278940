package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// scale measures what an Echo costs when few and when many arrive, and plots it.
func (b *benchmark) scale(ctx context.Context) error {
	var sizes []int
	for _, n := range []int{100, 300, 1000, 3000, 10000} {
		if n > b.most {
			break
		}
		sizes = append(sizes, n)
		for _, client := range []string{raw, ours} {
			b.say("%d Echoes: %s", n, client)
			if err := b.oneRound(ctx, fmt.Sprintf("scale.%d", n), client, n, true); err != nil {
				return fmt.Errorf("%d Echoes, %s: %w", n, client, err)
			}
		}
	}
	ratios := b.scaleFigures(sizes, func(limit, measured float64) float64 { return measured / limit })
	b.figures.add("scale.spread", slices.Max(ratios)/slices.Min(ratios))
	if b.plot == "" {
		return nil
	}
	return os.WriteFile(b.plot, []byte(plot("CPU per Echo in ms: operator, API server and etcd", sizes,
		line{"operator", "#0066cc", b.scaleFigures(sizes, func(_, measured float64) float64 { return measured })},
		line{"raw writer", "#777777", b.scaleFigures(sizes, func(limit, _ float64) float64 { return limit })},
	)), 0o644)
}

// scaleFigures returns a figure for each number of Echoes, from the costs by the raw writer and by the operator.
func (b *benchmark) scaleFigures(sizes []int, figure func(limit, measured float64) float64) []float64 {
	var values []float64
	for _, n := range sizes {
		name := fmt.Sprintf("scale.%d.", n)
		values = append(values, figure(b.figures.last(name+raw+".cpu.sum"), b.figures.last(name+ours+".cpu.sum")))
	}
	return values
}
