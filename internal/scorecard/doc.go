// Package scorecard contains the scorecard tests for the bundle and for the operator that the bundle installs.
package scorecard
