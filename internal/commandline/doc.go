// Package commandline holds the code that the command lines of all programs share. It handles --help and --version, prints errors and
// cleans values.
package commandline
