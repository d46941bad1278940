// Package commandline holds the code that the command lines of all programs share. The package handles --help and --version, prints errors,
// and cleans values.
package commandline
