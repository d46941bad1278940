// Package gatewayapi holds which Gateway API kinds the cluster offers, and reads an Echo's Gateways.
package gatewayapi
