// Package commandline has what the command lines of all programs share: --help, --version, and how errors are printed.
package commandline
