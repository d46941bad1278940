// Package routing builds Ingresses and routes of Gateway API, and determines the URLs of an Echo.
package routing
