// Package podmonitor makes the PodMonitor of an Echo match its spec.
package podmonitor
