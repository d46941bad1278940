package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// scale measures what an Echo costs when few and when many arrive, and plots it.
func (b *benchmark) scale(ctx context.Context) error {
	sizes := []int{100, 300, 1000, 3000, 10000}
	sizes = slices.DeleteFunc(sizes, func(n int) bool { return n > b.most })
	if len(sizes) == 0 {
		return nil
	}
	for round := range b.rounds {
		for _, n := range sizes {
			for _, client := range []string{raw, ours} {
				b.say("round %d of %d: %s, %d Echoes", round+1, b.rounds, client, n)
				if err := b.oneRound(ctx, fmt.Sprintf("scale.%d", n), client, n, true); err != nil {
					return fmt.Errorf("%d Echoes, %s: %w", n, client, err)
				}
			}
		}
	}
	var ratios, measured, limits []float64
	for _, n := range sizes {
		costs, limit := b.figures[fmt.Sprintf("scale.%d.%s.cpu.sum", n, ours)], b.figures[fmt.Sprintf("scale.%d.%s.cpu.sum", n, raw)]
		ratios = append(ratios, spreadOf(quotients(costs, limit)).median)
		measured, limits = append(measured, spreadOf(costs).median), append(limits, spreadOf(limit).median)
	}
	b.figures.add("scale.spread", slices.Max(ratios)/slices.Min(ratios))
	if b.plot == "" {
		return nil
	}
	return os.WriteFile(b.plot, []byte(plot("CPU per Echo in ms: client, API server and etcd", sizes,
		line{"operator", "#0066cc", measured}, line{"raw writer", "#777777", limits})), 0o644)
}
