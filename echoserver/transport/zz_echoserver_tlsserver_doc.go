// Package tlsserver adds TLS to connections, and reloads the certificate when the certificate files change.
package transport
