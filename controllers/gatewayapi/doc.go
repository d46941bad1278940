// Package gatewayapi holds which kinds of Gateway API the cluster offers, and reads the Gateways of an Echo.
package gatewayapi
