// Package connection bounds what clients make the server hold: connections, headers, and the bytes of both and of requests together.
package connection
