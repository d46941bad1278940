// Package wire sends requests byte for byte as specified, reads responses, and keeps a run within its limits.
package wire
