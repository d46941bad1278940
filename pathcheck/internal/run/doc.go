// Package run has what the groups of a run share: what is known of the Echo, what came of a request, and why a run is over.
package run
