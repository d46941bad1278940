// Package tlsserver adds TLS to connections. It reloads the certificate when its files change.
package tlsserver
