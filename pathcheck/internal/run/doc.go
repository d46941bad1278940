// Package run holds what the groups of a run share: what is known of the Echo, the outcomes of requests, and why a run ends.
package run
