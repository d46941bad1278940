// Package companion creates an echo server next to each pod that requests one with a label.
package companion
