package main

import (
	"fmt"
	"math"
	"strings"
)

// The size of a plot, and the frame in it, in pixels.
const (
	plotWidth, plotHeight                    = 720, 400
	plotLeft, plotRight, plotTop, plotBottom = 60, 590, 50, 350
)

// line is a line of a plot.
type line struct {
	name, color string
	values      []float64
}

// plot draws lines over numbers on a logarithmic axis, as SVG. The other axis begins at 0.
func plot(title string, numbers []int, lines ...line) string {
	top := plotMaximum(lines)
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&s, `<text x="%d" y="25" font-size="15">%s</text>`+"\n", plotLeft, title)
	const marks = 5
	for i := range marks + 1 {
		value := top * float64(i) / marks
		y := plotY(value, top)
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#dddddd"/>`+"\n", plotLeft, y, plotRight)
		fmt.Fprintf(&s, `<text x="%d" y="%.1f" text-anchor="end">%.4g</text>`+"\n", plotLeft-8, y+4, value)
	}
	for _, n := range numbers {
		fmt.Fprintf(&s, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", plotX(n, numbers), plotBottom+20, n)
	}
	fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle">Echoes</text>`+"\n", (plotLeft+plotRight)/2, plotBottom+42)
	for _, l := range lines {
		drawLine(&s, l, numbers, top)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

func drawLine(s *strings.Builder, l line, numbers []int, top float64) {
	var points strings.Builder
	for i, value := range l.values {
		x, y := plotX(numbers[i], numbers), plotY(value, top)
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
		fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", x, y, l.color)
		fmt.Fprintf(s, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s">%.1f</text>`+"\n", x, y-9, l.color, value)
	}
	fmt.Fprintf(s, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(points.String()), l.color)
	fmt.Fprintf(s, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", plotRight+12, plotY(l.values[len(l.values)-1], top)+4, l.color, l.name)
}

// plotMaximum returns the upper end of an axis: a multiple of 10 with room above all values.
func plotMaximum(lines []line) float64 {
	most := 0.0
	for _, l := range lines {
		for _, value := range l.values {
			most = max(most, value)
		}
	}
	const step, room = 10, 1.1
	return math.Ceil(most*room/step) * step
}

func plotX(n int, numbers []int) float64 {
	first, last := math.Log(float64(numbers[0])), math.Log(float64(numbers[len(numbers)-1]))
	if first == last {
		return plotLeft
	}
	return plotLeft + (plotRight-plotLeft)*(math.Log(float64(n))-first)/(last-first)
}

func plotY(value, top float64) float64 { return plotBottom - (plotBottom-plotTop)*value/top }
