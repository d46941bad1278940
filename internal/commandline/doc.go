// Package commandline holds the command-line code that all programs share. The package handles --help and --version, prints errors, and
// cleans values.
package commandline
