// Package companion creates an echo server next to each pod that requests one by a label.
package companion
