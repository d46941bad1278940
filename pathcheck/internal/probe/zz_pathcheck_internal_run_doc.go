// Package run holds the code that groups share: knowledge about the Echo, outcomes of requests, and reasons why a run ends.
package probe
