package figures

import "slices"

// row describes a row of the table. It compares one of the operator's figures with a limit, such as the raw writer's figure, and with a goal.
type row struct {
	metric          string
	measured, limit string // names of figures
	compare         comparison
	goal            goal
	unit            string
	digits          int
}

// comparison is the value that the goal applies to.
type comparison int

const (
	absolute comparison = iota // the measured value
	ratio                      // the measured value, as a multiple of the limit
	beyond                     // the measured value minus the limit
	none                       // no goal
)

// goal is an upper or lower bound for a figure.
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

// rows returns the rows of the table, in order. The table omits rows without measured figures.
func rows() []row {
	return slices.Concat(convergenceRows(), restartRows(), latencyRows(), otherRows(), clusterRows())
}

func convergenceRows() []row {
	return []row{
		{"Echoes/s, there", "there.operator.perSecond", "there.raw.perSecond", ratio, atLeast(0.80), "", 1},
		{"Echoes/s, arriving", "arriving.operator.perSecond", "arriving.raw.perSecond", ratio, atLeast(0.80), "", 1},
		{"CPU sum per Echo, there", "there.operator.cpu.sum", "there.raw.cpu.sum", ratio, atMost(1.25), "ms", 2},
		{"CPU sum per Echo, arriving", "arriving.operator.cpu.sum", "arriving.raw.cpu.sum", ratio, atMost(1.35), "ms", 2},
		{"CPU of the client per Echo, there", "there.operator.cpu.client", "there.raw.cpu.client", none, goal{}, "ms", 2},
		{"CPU of the client per Echo, arriving", "arriving.operator.cpu.client", "arriving.raw.cpu.writing", none, goal{}, "ms", 2},
		{"CPU of the API server per Echo, there", "there.operator.cpu.apiServer", "there.raw.cpu.apiServer", none, goal{}, "ms", 2},
		{"CPU of the API server per Echo, arriving", "arriving.operator.cpu.apiServer", "arriving.raw.cpu.apiServer", none, goal{}, "ms", 2},
		{"requests per Echo, there", "there.operator.requests", "there.raw.requests", ratio, atMost(1.01), "", 3},
		{"requests per Echo, arriving", "arriving.operator.requests", "arriving.raw.requests", ratio, atMost(1.01), "", 3},
		{"writes that changed something per Echo, there", "there.operator.effective", "there.raw.effective", none, goal{}, "", 3},
		{"conflicts per Echo, there", "there.operator.conflicts", "", absolute, atMost(0), "", 3},
		{"conflicts per Echo, arriving", "arriving.operator.conflicts", "", absolute, atMost(0), "", 3},
		{"reconciles per Echo, there", "there.operator.reconciles", "", absolute, atMost(2.2), "", 2},
		{"reconciles per Echo, arriving", "arriving.operator.reconciles", "", absolute, atMost(2.2), "", 2},
	}
}

func restartRows() []row {
	return []row{
		{"requests after a restart, 2,000, other than for leases, and 1 each for OpenShift, the Prometheus Operator and Gateway API",
			"restart.2000.requests", "", absolute, atMost(20), "", 0},
		{"requests after a restart, 10,000, the same", "restart.10000.requests", "", absolute, atMost(20), "", 0},
		{"writes after a restart, 2,000", "restart.2000.writes", "", absolute, atMost(0), "", 0},
		{"writes after a restart, 10,000", "restart.10000.writes", "", absolute, atMost(0), "", 0},
		{"requests in 2 minutes at rest, other than for leases", "rest.requests", "", absolute, atMost(0), "", 0},
		{"requests in 2 minutes at rest, for leases", "rest.leases", "", none, goal{}, "", 0},
		{"reconciles in 2 minutes at rest", "rest.reconciles", "", none, goal{}, "", 0},
		{"CPU in 2 minutes at rest", "rest.cpu.client", "", none, goal{}, "s", 2},
		{"exec to first reconcile, 1, compared with a bare manager", "restart.1.firstReconcile", "restart.1.bare.firstReconcile", ratio, atMost(1.3), "s", 2},
		{"exec to first reconcile, 2,000, compared with a bare manager", "restart.2000.firstReconcile", "restart.2000.bare.firstReconcile", ratio, atMost(1.3),
			"s", 2},
		{"exec to first reconcile, 10,000, compared with a bare manager", "restart.10000.firstReconcile", "restart.10000.bare.firstReconcile", ratio,
			atMost(1.3), "s", 2},
		{"exec to all reconciles, 2,000", "restart.2000.allReconciles", "", none, goal{}, "s", 2},
		{"exec to all reconciles, 10,000", "restart.10000.allReconciles", "", none, goal{}, "s", 2},
		{"CPU of a restart, 2,000", "restart.2000.cpu.client", "", none, goal{}, "s", 2},
		{"CPU of a restart, 10,000", "restart.10000.cpu.client", "", none, goal{}, "s", 2},
		{"RSS, 1 Echo", "restart.1.resident", "", none, goal{}, "MB", 1},
		{"RSS after a restart, 2,000", "restart.2000.resident", "", absolute, atMost(110), "MB", 1},
		{"RSS after a restart, 2,000 with 2 pods each", "restart.2000.pods.resident", "", absolute, atMost(140), "MB", 1},
		{"RSS after a restart, 10,000", "restart.10000.resident", "", absolute, atMost(320), "MB", 1},
		{"anonymous RSS, 1 Echo", "restart.1.anonymous", "", none, goal{}, "MB", 1},
		{"anonymous RSS after a restart, 2,000", "restart.2000.anonymous", "", none, goal{}, "MB", 1},
		{"anonymous RSS after a restart, 2,000 with 2 pods each", "restart.2000.pods.anonymous", "", none, goal{}, "MB", 1},
		{"anonymous RSS after a restart, 10,000", "restart.10000.anonymous", "", none, goal{}, "MB", 1},
		{"live heap, 1 Echo", "restart.1.heap", "", none, goal{}, "MB", 1},
		{"live heap after a restart, 2,000", "restart.2000.heap", "", none, goal{}, "MB", 1},
		{"live heap after a restart, 2,000 with 2 pods each", "restart.2000.pods.heap", "", none, goal{}, "MB", 1},
		{"live heap after a restart, 10,000", "restart.10000.heap", "", none, goal{}, "MB", 1},
	}
}

func latencyRows() []row {
	return []row{
		{"create of one Echo to its Deployment, p50", "single.operator.deployment", "single.raw.deployment", beyond, atMost(15), "ms", 1},
		{"create of one Echo to the last write, p50", "single.operator.last", "single.raw.last", beyond, atMost(30), "ms", 1},
		{"exec to first watch, nothing there, compared with a bare manager", "start.firstWatch", "start.bare.firstWatch", ratio, atMost(1.3),
			"ms", 0},
		{"failover, clean", "failover.clean", "", absolute, atMost(2.5), "s", 2},
		{"failover, killed", "failover.killed", "", absolute, atMost(20), "s", 2},
	}
}

func otherRows() []row {
	return []row{
		{"no-op reconcile, no pods", "noop.0.time", "", absolute, atMost(1000), "µs", 0},
		{"no-op reconcile, 1,000 pods in the namespace", "noop.1000.time", "", absolute, atMost(1000), "µs", 0},
		{"no-op reconcile, 4,000 pods in the namespace", "noop.4000.time", "", absolute, atMost(1000), "µs", 0},
		{"CPU of a no-op reconcile with garbage collection, no pods", "noop.0.cpu", "", none, goal{}, "µs", 0},
		{"CPU of a no-op reconcile with garbage collection, 4,000 pods", "noop.4000.cpu", "", none, goal{}, "µs", 0},
		{"requests of all no-op reconciles", "noop.4000.requests", "", absolute, atMost(0), "", 0},
		{"allocations of a no-op reconcile, no pods", "noop.0.allocations", "", absolute, atMost(3500), "", 0},
		{"allocations of a no-op reconcile, 4,000 pods in the namespace", "noop.4000.allocations", "", absolute, atMost(3500), "", 0},
		{"bytes of a no-op reconcile, no pods", "noop.0.bytes", "", none, goal{}, "", 0},
		{"bytes of a no-op reconcile, 4,000 pods in the namespace", "noop.4000.bytes", "", none, goal{}, "", 0},
		{"program, stripped", "size.binary", "", absolute, atMost(55), "MB", 1},
		{"program, compressed, which is the image", "size.compressed", "", absolute, atMost(18), "MB", 1},
	}
}

// clusterRows returns the rows for Echoes with pods. The limit is the cost per Echo in a cluster with a tenth as many Echoes.
func clusterRows() []row {
	var all []row
	for _, phase := range []string{"converge", "roll", "delete"} {
		few, many, name := "cluster.few."+phase, "cluster.many."+phase, "with pods, "+phase+": "
		all = append(all,
			row{name + "requests per Echo, compared with a tenth of the Echoes", many + ".requests", few + ".requests", ratio, atMost(1.1), "", 2},
			row{name + "CPU of the operator per Echo, compared with a tenth", many + ".cpu.operator", few + ".cpu.operator", ratio, atMost(1.1),
				"ms", 2},
			row{name + "CPU of the API server per Echo, compared with a tenth", many + ".cpu.kube-apiserver", few + ".cpu.kube-apiserver", none,
				goal{}, "ms", 2},
			row{name + "reconciles per Echo, compared with a tenth", many + ".reconciles", few + ".reconciles", none, goal{}, "", 2},
			row{name + "conflicts per Echo", many + ".conflicts", "", none, goal{}, "", 3},
			row{name + "RSS afterwards", many + ".resident", "", none, goal{}, "MB", 1},
			row{name + "RSS, at most", many + ".peak", "", none, goal{}, "MB", 1})
	}
	return append(all, clusterRestartRows()...)
}

func clusterRestartRows() []row {
	const few, many = "cluster.few.restart", "cluster.many.restart"
	return []row{
		{"with pods, restart: requests, compared with a tenth of the Echoes", many + ".requests", few + ".requests", ratio, atMost(1), "", 0},
		{"with pods, restart: writes", many + ".writes", "", absolute, atMost(0), "", 0},
		{"with pods, restart: exec to first reconcile", many + ".firstReconcile", "", none, goal{}, "s", 2},
		{"with pods, restart: exec to all reconciles", many + ".allReconciles", "", none, goal{}, "s", 2},
		{"with pods, restart: RSS", many + ".resident", "", none, goal{}, "MB", 1},
		{"with pods, restart: live heap", many + ".heap", "", none, goal{}, "MB", 1},
	}
}
