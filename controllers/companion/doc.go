// Package companion creates an echo server next to each pod whose label requests one.
package companion
