// Package commandline holds what the command lines of all programs share: --help, --version, and code to print errors and clean values.
package commandline
