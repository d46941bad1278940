// Package kubectlecho is the kubectl plugin for Echoes.
package kubectlecho
