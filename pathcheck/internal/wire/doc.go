// Package wire sends requests byte for byte, reads responses, and keeps a run within its limits.
package wire
