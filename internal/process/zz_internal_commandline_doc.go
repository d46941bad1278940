// Package commandline holds the command-line code that all programs share. The package handles --help and --version, prints errors, and
// trims values.
package process
