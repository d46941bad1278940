// Package companion creates an echo server next to each pod that asks for one.
package companion
