package main

// row is a line of the table: figures of the operator, those of the raw writer or another limit, and the goal.
type row struct {
	metric          string
	measured, limit string // names of figures
	compare         comparison
	goal            goal
	unit            string
	digits          int
}

// comparison is what the goal is for.
type comparison int

const (
	absolute comparison = iota // what was measured
	ratio                      // what was measured, as a multiple of the limit
	beyond                     // what was measured, less the limit
	none                       // there is no goal
)

// goal is a bound for a figure.
type goal struct {
	atLeast bool
	bound   float64
}

func atLeast(bound float64) goal { return goal{true, bound} }
func atMost(bound float64) goal  { return goal{false, bound} }

func (g goal) met(value float64) bool {
	if g.atLeast {
		return value >= g.bound
	}
	return value <= g.bound
}

// rows are the lines of the table, in its order. Those of figures that were not measured are left out.
func rows() []row {
	return []row{
		{"Echoes/s, there", "there.operator.perSecond", "there.raw.perSecond", ratio, atLeast(0.80), "", 1},
		{"Echoes/s, arriving", "arriving.operator.perSecond", "arriving.raw.perSecond", ratio, atLeast(0.80), "", 1},
		{"CPU sum per Echo, there", "there.operator.cpu.sum", "there.raw.cpu.sum", ratio, atMost(1.15), "ms", 2},
		{"CPU sum per Echo, arriving", "arriving.operator.cpu.sum", "arriving.raw.cpu.sum", ratio, atMost(1.15), "ms", 2},
		{"CPU of the client per Echo, there", "there.operator.cpu.client", "there.raw.cpu.client", ratio, atMost(1.8), "ms", 2},
		{"CPU of the client per Echo, arriving", "arriving.operator.cpu.client", "arriving.raw.cpu.writing", ratio, atMost(1.8), "ms", 2},
		{"CPU of the API server per Echo, there", "there.operator.cpu.apiServer", "there.raw.cpu.apiServer", none, goal{}, "ms", 2},
		{"CPU of the API server per Echo, arriving", "arriving.operator.cpu.apiServer", "arriving.raw.cpu.apiServer", none, goal{}, "ms", 2},
		{"requests per Echo, there", "there.operator.requests", "there.raw.requests", ratio, atMost(1.01), "", 3},
		{"requests per Echo, arriving", "arriving.operator.requests", "arriving.raw.requests", ratio, atMost(1.01), "", 3},
		{"writes that changed something per Echo, there", "there.operator.effective", "there.raw.effective", none, goal{}, "", 3},
		{"conflicts per Echo, there", "there.operator.conflicts", "", absolute, atMost(0), "", 3},
		{"conflicts per Echo, arriving", "arriving.operator.conflicts", "", absolute, atMost(0), "", 3},
		{"passes per Echo, there", "there.operator.passes", "", absolute, atMost(1.1), "", 2},
		{"passes per Echo, arriving", "arriving.operator.passes", "", absolute, atMost(1.1), "", 2},
		{"naive operator: Echoes/s, there", "there.naive.perSecond", "there.raw.perSecond", none, goal{}, "", 1},
		{"naive operator: CPU sum per Echo, there", "there.naive.cpu.sum", "there.raw.cpu.sum", none, goal{}, "ms", 2},
		{"naive operator: CPU sum per Echo, arriving", "arriving.naive.cpu.sum", "arriving.raw.cpu.sum", none, goal{}, "ms", 2},
		{"naive operator: requests per Echo, there", "there.naive.requests", "there.raw.requests", none, goal{}, "", 3},
	}
}
