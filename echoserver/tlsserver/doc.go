// Package tlsserver adds TLS to connections, with a certificate that follows its files.
package tlsserver
