package server

import "strings"

// reserved is the prefix of the paths with a special meaning. Requests to all other paths are echoed, unless they end in a route that
// exists under any prefix.
const reserved = "/-/"

// route is what the server does with a request.
type route int

const (
	routeEcho route = iota
	routeLive
	routeReady
	routeBody
	routeWebSocket
	routeEvents
	routeUnknown
)

// routeOf returns the route of a path. Streams exist under any prefix, so that they are reachable through an Ingress with a path. Probes
// exist only at the root: load balancers send them without the prefix, and a path of an application may end like them.
func routeOf(path string) route {
	switch {
	case path == "/-/livez":
		return routeLive
	case path == "/-/readyz":
		return routeReady
	case strings.HasSuffix(path, "/-/body"):
		return routeBody
	case strings.HasSuffix(path, "/-/ws"):
		return routeWebSocket
	case strings.HasSuffix(path, "/-/sse"):
		return routeEvents
	case strings.HasPrefix(path, reserved):
		return routeUnknown
	}
	return routeEcho
}

func isProbe(path string) bool { return path == "/-/livez" || path == "/-/readyz" }
