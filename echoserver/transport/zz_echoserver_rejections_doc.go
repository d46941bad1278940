// Package rejections counts and logs the connections and requests that net/http and crypto/tls reject before a handler is called.
package transport
