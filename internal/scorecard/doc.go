// Package scorecard holds the scorecard tests of the bundle and of the operator that the bundle installs.
package scorecard
