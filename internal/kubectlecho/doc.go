// Package kubectlecho is the plugin of kubectl for Echoes.
package kubectlecho
