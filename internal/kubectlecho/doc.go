// Package kubectlecho implements the kubectl plugin for Echoes.
package kubectlecho
