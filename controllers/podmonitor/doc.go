// Package podmonitor makes Prometheus collect the metrics of Echoes that ask for it.
package podmonitor
