// Package run holds the code that the groups in a run share: the knowledge about the Echo, the outcomes of requests, and the reasons why a
// run ends.
package run
