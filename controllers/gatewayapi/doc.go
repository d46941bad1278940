// Package gatewayapi says what the cluster offers of Gateway API, and reads the Gateways of an Echo.
package gatewayapi
