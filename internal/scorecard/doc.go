// Package scorecard holds the scorecard tests of the bundle and of the operator that it installs.
package scorecard
