// Package caches holds what the operator reads of a cluster in memory: which objects, which of their fields, and whether all were received.
package caches
