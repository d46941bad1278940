package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The size of a cell of the grid, the room that a panel leaves around its content, and that of a line of text, in pixels.
const (
	cellWidth, cellHeight = 50, 30
	margin                = 8
	textHeight            = 14
	// maxLegend is how many lines of a panel have a legend.
	maxLegend = 6
)

// line is a time series as it is drawn.
type line struct {
	name   string
	labels map[string]string
	points []point
}

type point struct{ time, value float64 }

func (l line) last() float64 {
	if len(l.points) == 0 {
		return math.NaN()
	}
	return l.points[len(l.points)-1].value
}

// add adds the time series of a query, named by its legend.
func (p *panel) add(found []series, legend string) {
	label := regexp.MustCompile(`{{\s*(\w+)\s*}}`)
	for _, s := range found {
		l := line{labels: s.Metric, name: label.ReplaceAllStringFunc(legend, func(name string) string {
			return s.Metric[label.FindStringSubmatch(name)[1]]
		})}
		for _, v := range s.Values {
			at, _ := v[0].(float64)
			text, _ := v[1].(string)
			if value, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
				l.points = append(l.points, point{at, value})
			}
		}
		if len(l.points) > 0 {
			p.lines = append(p.lines, l)
		}
	}
}

// draw returns the dashboard as SVG.
func (d dashboard) draw(until time.Time) string {
	height := 0.0
	for _, p := range d.Panels {
		height = max(height, (p.Place.Y+p.Place.H)*cellHeight)
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" font-family="sans-serif" font-size="11">`+"\n", 24*cellWidth, height+margin)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#f4f5f5"/>`+"\n")
	for _, p := range d.Panels {
		p.draw(out, until)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func (p panel) draw(out *strings.Builder, until time.Time) {
	x, y, w, h := p.Place.X*cellWidth, p.Place.Y*cellHeight, p.Place.W*cellWidth, p.Place.H*cellHeight
	fmt.Fprintf(out, `<g transform="translate(%.0f %.0f)">`, x, y)
	switch p.Type {
	case "row":
		fmt.Fprintf(out, `<text x="%d" y="20" font-size="14" font-weight="bold">%s</text>`, margin, html.EscapeString(p.Title))
	case "stat":
		p.drawValue(out, w, h)
	default:
		fmt.Fprintf(out, `<rect x="2" y="2" width="%.0f" height="%.0f" fill="white" stroke="#ddd"/>`, w-4, h-4)
		fmt.Fprintf(out, `<text x="%d" y="18" font-weight="bold">%s</text>`, margin, html.EscapeString(p.Title))
		if p.Type == "table" {
			p.drawTable(out, w)
		} else {
			p.drawLines(out, w, h, until)
		}
	}
	out.WriteString("</g>\n")
}

// drawValue draws the last value on the color of its threshold.
func (p panel) drawValue(out *strings.Builder, w, h float64) {
	value, text, color := math.NaN(), "no data", "#777"
	if len(p.lines) > 0 {
		value = p.lines[0].last()
		text = p.format(value)
	}
	for _, s := range p.Fields.Defaults.Thresholds.Steps {
		if s.Value == nil || value >= *s.Value {
			color = map[string]string{"green": "#3a8a3e", "orange": "#c46a00", "red": "#c4262e", "blue": "#2f6fb5"}[s.Color]
		}
	}
	fmt.Fprintf(out, `<rect x="2" y="2" width="%.0f" height="%.0f" fill="%s"/>`, w-4, h-4, color)
	fmt.Fprintf(out, `<text x="%d" y="20" fill="white">%s</text>`, margin, html.EscapeString(p.Title))
	fmt.Fprintf(out, `<text x="%.0f" y="%.0f" fill="white" font-size="34" text-anchor="middle">%s</text>`, w/2, h/2+22, html.EscapeString(text))
}

// drawTable draws the labels and the last value of each line, the largest first.
func (p panel) drawTable(out *strings.Builder, w float64) {
	lines := slices.Clone(p.lines)
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(b.last(), a.last()) })
	for i, l := range lines {
		y := 40 + float64(i)*textHeight
		fmt.Fprintf(out, `<text x="%d" y="%.0f">%s/%s</text>`, margin, y, html.EscapeString(l.labels["echo_namespace"]), html.EscapeString(l.labels["echo"]))
		fmt.Fprintf(out, `<text x="%.0f" y="%.0f">%s</text>`, w*.55, y, html.EscapeString(l.labels["reason"]))
		fmt.Fprintf(out, `<text x="%.0f" y="%.0f" text-anchor="end">%s</text>`, w-margin, y, p.format(l.last()))
	}
}

// drawLines draws lines over the time, from zero to the largest value.
func (p panel) drawLines(out *strings.Builder, w, h float64, until time.Time) {
	colors := []string{"#2f6fb5", "#c4262e", "#3a8a3e", "#c46a00", "#7b4fa3", "#008b8b", "#8c6d31", "#555555"}
	most := 0.0
	for _, l := range p.lines {
		for _, at := range l.points {
			most = max(most, at.value)
		}
	}
	if most == 0 {
		most = 1
	}
	legend := float64(min(len(p.lines), maxLegend)+1) / 2 * textHeight
	left, top, bottom := 52.0, 30.0, h-margin-legend-textHeight
	fmt.Fprintf(out, `<path d="M%.0f %.0fH%.0fM%.0f %.0fH%.0f" stroke="#ddd"/>`, left, bottom, w-margin, left, top, w-margin)
	fmt.Fprintf(out, `<text x="%.0f" y="%.0f" text-anchor="end">%s</text><text x="%.0f" y="%.0f" text-anchor="end">0</text>`,
		left-4, top+4, html.EscapeString(p.format(most)), left-4, bottom+4)
	began := until.Add(-span)
	fmt.Fprintf(out, `<text x="%.0f" y="%.0f">%s</text><text x="%.0f" y="%.0f" text-anchor="end">%s</text>`, left, bottom+textHeight, began.UTC().Format("15:04"),
		w-margin, bottom+textHeight, until.UTC().Format("15:04"))
	slices.SortStableFunc(p.lines, func(a, b line) int { return cmp.Compare(b.last(), a.last()) })
	for i, l := range p.lines {
		var path strings.Builder
		for _, at := range l.points {
			fmt.Fprintf(&path, " %.1f,%.1f", left+(at.time-float64(began.Unix()))/span.Seconds()*(w-margin-left), bottom-at.value/most*(bottom-top))
		}
		color := colors[i%len(colors)]
		fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, path.String()[1:], color)
		if i < maxLegend {
			x, y := margin+float64(i%2)*w/2, h-margin-legend+float64(i/2+1)*textHeight-2
			fmt.Fprintf(out, `<rect x="%.0f" y="%.0f" width="10" height="3" fill="%s"/><text x="%.0f" y="%.0f" font-size="10">%s</text>`,
				x, y-4, color, x+14, y, html.EscapeString(shorten(l.name, int(w/2-22)/5)))
		}
	}
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most-3] + "..."
}

// format returns a value with its unit.
func (p panel) format(value float64) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch p.Fields.Defaults.Unit {
	case "s":
		switch {
		case value >= 60:
			return time.Duration(value * float64(time.Second)).Round(time.Second).String()
		case value < 1 && value > 0:
			return number(value*1000) + " ms"
		}
		return number(value) + " s"
	case "bytes":
		return number(value/1e6) + " MB"
	case "percentunit":
		return number(value*100) + " %"
	case "d":
		return number(value) + " d"
	case "ops", "reqps":
		return number(value) + "/s"
	}
	if value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return number(value)
}
