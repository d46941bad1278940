// Package gatewayapi records which Gateway API kinds the cluster serves, and reads an Echo's Gateways.
package gatewayapi
