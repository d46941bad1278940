// Package podmonitor makes an Echo's PodMonitor match the Echo's spec.
package podmonitor
