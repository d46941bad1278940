// Package routing builds Ingresses and Gateway API routes, and determines an Echo's URLs.
package objects
