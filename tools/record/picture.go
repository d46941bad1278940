package main

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

const (
	columns, rows      = 100, 28          // of the terminal
	columnWidth        = 8.4              // in a 14-pixel monospaced font
	lineHeight, margin = 19, 16           // in pixels
	longestPause       = 2 * time.Second  // the picture shortens longer pauses to this duration
	shownAtTheEnd      = 15 * time.Second // how long the picture waits before it starts again
)

// picture draws lines as a scrolling terminal in an SVG image without scripts. It shortens only long pauses.
func picture(lines []line) string {
	lines = wrapped(lines)
	times, total := shortened(lines)
	var text, steps strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&text, "<text y=\"%d\"%s>%s</text>\n", (i+1)*lineHeight, class(l.text), escaped(l.text))
		if i+1 == len(lines) || times[i+1] > times[i] {
			fmt.Fprintf(&steps, "%.2f%%{transform:translateY(%dpx)}\n", 100*times[i].Seconds()/total.Seconds(), offset(i+1))
		}
	}
	width, height := int(columns*columnWidth)+2*margin, rows*lineHeight+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d1d7e0;white-space:pre}
.s{fill:#f0f6fc;font-weight:bold}.c{fill:#7ee787}
.l{transform:translateY(%dpx);animation:l %.1fs steps(1,end) infinite}
@media (prefers-reduced-motion:reduce){.l{animation:none}}
@keyframes l{
%s}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117" stroke="#3d444d"/>
<svg x="%d" y="%d" width="%d" height="%d"><g class="l">
%s</g></svg>
</svg>
`, width, height, width, height, offset(len(lines)), total.Seconds(), steps.String(), margin, margin, width-2*margin, rows*lineHeight, text.String())
}

// offset returns the vertical position of all lines after the given number of lines has been printed. The position moves the last printed
// line to the last row.
func offset(printed int) int { return (rows-printed)*lineHeight - lineHeight/4 }

// shortened returns the time when each line appears in the picture, and the duration of the picture.
func shortened(lines []line) ([]time.Duration, time.Duration) {
	var times []time.Duration
	var now, before time.Duration
	for _, l := range lines {
		now += min(l.at-before, longestPause).Round(10 * time.Millisecond)
		before = l.at
		times = append(times, now)
	}
	return times, now + shownAtTheEnd
}

// wrapped breaks lines that are too long for a row, as a terminal does.
func wrapped(lines []line) []line {
	var all []line
	for _, l := range lines {
		rest := []rune(l.text)
		for len(rest) > columns {
			all = append(all, line{text: string(rest[:columns]), at: l.at})
			rest = rest[columns:]
		}
		all = append(all, line{text: string(rest), at: l.at})
	}
	return all
}

// class returns an attribute that highlights the lines that start a step of the demo, and the commands that the demo shows.
func class(text string) string {
	switch {
	case strings.HasPrefix(text, "=== "), strings.HasPrefix(text, "--- "):
		return ` class="s"`
	case strings.HasPrefix(text, "$ "):
		return ` class="c"`
	}
	return ""
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // writing to a Builder never fails
	return b.String()
}
