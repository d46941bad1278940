// Package check runs the path checks of Echoes, and reports what they find.
package check
