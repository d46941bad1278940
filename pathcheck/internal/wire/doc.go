// Package wire sends requests as they are written, reads responses, and keeps a run within its limits.
package wire
