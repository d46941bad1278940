// Package commandline has what the command lines of all programs share: --help, --version, how errors are printed, and how values are cleaned.
package commandline
