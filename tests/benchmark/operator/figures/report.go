package figures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Table returns the table of measured rows. The values are medians, with ranges in parentheses.
func (f Set) Table() string {
	var text strings.Builder
	text.WriteString("| metric | raw / limit | goal | measured | ratio | met |\n|---|---|---|---|---|---|\n")
	for _, r := range rows() {
		if len(f[r.measured]) > 0 {
			text.WriteString(r.text(f[r.measured], f[r.limit]))
		}
	}
	return text.String()
}

func (r row) text(measured, limit []float64) string {
	cells := []string{r.metric, "-", r.goalText(), r.cell(measured), "-", "-"}
	judged := spreadOf(measured).median
	if len(limit) > 0 {
		cells[1], cells[4] = r.cell(limit), row{digits: 2}.cell(quotients(measured, limit))
		switch r.compare {
		case ratio:
			judged = spreadOf(quotients(measured, limit)).median
		case beyond:
			judged -= spreadOf(limit).median
		}
	}
	if r.compare != none {
		cells[5] = map[bool]string{true: "yes", false: "**no**"}[r.goal.met(judged)]
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// cell returns a median, and its range if there are several values.
func (r row) cell(values []float64) string {
	s := spreadOf(values)
	text := r.number(s.median)
	if len(values) > 1 {
		text += " (" + r.number(s.least) + "-" + r.number(s.most) + ")"
	}
	return strings.TrimSuffix(text+" "+r.unit, " ")
}

func (r row) number(value float64) string { return strconv.FormatFloat(value, 'f', r.digits, 64) }

func (r row) goalText() string {
	if r.compare == none {
		return "-"
	}
	sign, bound := "<=", strconv.FormatFloat(r.goal.bound, 'f', -1, 64)
	if r.goal.atLeast {
		sign = ">="
	}
	switch r.compare {
	case ratio:
		return sign + " " + bound + " x"
	case beyond:
		return sign + " " + bound + " " + r.unit + " more"
	default:
		return strings.TrimSuffix(sign+" "+bound+" "+r.unit, " ")
	}
}

// RequestKey separates the measurement from the request in the names of figures that count requests.
const RequestKey = ".request: "

// RequestTable returns the table of figures that count requests.
func (f Set) RequestTable() string {
	var names []string
	for name := range f {
		if strings.Contains(name, RequestKey) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text strings.Builder
	text.WriteString("\n| measurement | request | number |\n|---|---|---|\n")
	for _, name := range names {
		where, request, _ := strings.Cut(name, RequestKey)
		fmt.Fprintf(&text, "| %s | %s | %s |\n", where, request, row{digits: 3}.cell(f[name]))
	}
	return text.String()
}
