package controls

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Policy is what requests can control.
type Policy string

const (
	// Safe allows no control that could change what a cache, a proxy or a browser does for others.
	Safe Policy = "Safe"
	// Full allows everything but what browsers store. It is for private networks.
	Full Policy = "Full"
	// None ignores all controls of requests.
	None Policy = "None"
)

// needsFull describes how to allow what Safe rejects.
const needsFull = "on a private network, spec.server.controls: Full (ECHO_CONTROLS=Full) allows it"

// parseStatus rejects, unless the policy is Full, the statuses that make clients show the login of a proxy or of a network.
func (p Policy) parseStatus(text string) (int, error) {
	status, err := ParseStatus(text)
	if err != nil {
		return 0, err
	}
	isLogin := status == http.StatusProxyAuthRequired || status == http.StatusNetworkAuthenticationRequired
	if p != Full && isLogin {
		return 0, fmt.Errorf("%d requests a login; %s", status, needsFull)
	}
	return status, nil
}

// parseConnection rejects faults of the connection unless the policy is Full: gateways send no requests to a server whose connections
// break, so that a request could keep others from it.
func (p Policy) parseConnection(text string) (ConnectionFault, error) {
	if p != Full {
		return "", errors.New("a request cannot break the connection, because gateways stop using a server that does; " + needsFull)
	}
	return OneOf("is neither reset nor truncate", ConnectionReset, ConnectionTruncate)(text)
}

// parseEarlyHints rejects a response with status 103 unless the policy is Full: a proxy that does not know it can take what follows for the
// response to the next request, which may be another client's.
func (p Policy) parseEarlyHints(text string) (bool, error) {
	if p != Full {
		return false, errors.New("a request cannot cause a response with status 103, which not all proxies understand; " + needsFull)
	}
	return ParseBoolean(text)
}

// checkHeader rejects, unless the policy is Full, all headers but those that no proxy, cache or browser is known to act upon for
// others. The name is canonical.
func (p Policy) checkHeader(h Header) error {
	switch {
	case p == Full, h.Name == "Content-Language", h.Name == "Content-Type", h.Name == "Retry-After", isOwnName(h.Name):
		return nil
	case h.Name == "Location":
		if !isLocalPath(h.Value) {
			return fmt.Errorf("the Location %.100q is not a path of this server such as /shop; %s", h.Value, needsFull)
		}
		return nil
	}
	return fmt.Errorf("%.100s cannot be set by a request: allowed are Content-Language, Content-Type, Location, Retry-After, and names "+
		"such as X-Color, X-Test-Color, X-Custom-Color, X-Example-Color and X-My-Color; %s", h.Name, needsFull)
}

// isLocalPath reports whether every client takes a Location for a path on the same origin: browsers ignore tabs, and treat a backslash
// like a slash.
func isLocalPath(location string) bool {
	isOther := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	return strings.HasPrefix(location, "/") && !strings.Contains(location, "//") && !strings.ContainsFunc(location, isOther)
}

// isOwnName reports whether the canonical name of a header has no meaning to anyone. Names that proxies, content delivery networks and
// frameworks act upon begin with X-, too, and no list of them is complete. They nearly always have several words after it, such as
// X-Accel-Redirect. So it accepts one word, unless it is known, and any words after one of a few prefixes.
func isOwnName(name string) bool {
	rest, ok := strings.CutPrefix(name, "X-")
	if !ok || rest == "" || strings.ContainsFunc(rest, func(r rune) bool { return !isAlphanumeric(r) && r != '-' }) {
		return false
	}
	first, _, several := strings.Cut(rest, "-")
	if several {
		return slices.Contains([]string{"Custom", "Example", "My", "Test"}, first)
	}
	return !isKnownWord(first)
}

// isKnownWord reports whether the name X- and this word has a meaning in some server, cache, framework or their usual configuration.
func isKnownWord(word string) bool {
	switch word {
	case "Age", "Auth", "Authorization", "Backend", "Ban", "Bypass", "Cache", "Cacheable", "Callback", "Charset", "Cluster", "Compress",
		"Cookie", "Cors", "Csp", "Csrftoken", "Debug", "Encoding", "Error", "Esi", "Expires", "File", "Forward", "Forwarded", "Frame",
		"Grace", "Gzip", "Host", "Html", "Inertia", "Json", "Keep", "Key", "Language", "Location", "Login", "Logout", "Method",
		"Middleware", "Moz", "Netlify", "Nf", "Nginx", "Nonce", "Override", "Pad", "Pagespeed", "Path", "Permissions", "Pingback", "Pjax",
		"Policy", "Powered", "Proto", "Proxy", "Purge", "Query", "Redirect", "Refresh", "Reload", "Reproxy", "Retry", "Rewrite", "Robots",
		"Route", "Router", "Scheme", "Script", "Sendfile", "Server", "Session", "Sourcemap", "Ssl", "Status", "Stream", "Surrogate", "Tag",
		"Tags", "Target", "Template", "Token", "Transform", "Ttl", "Turbolinks", "Upstream", "Uri", "Url", "User", "Varnish", "Vary", "Vercel",
		"Via", "Xhr", "Xkey":
		return true
	}
	return false
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// withoutCaching returns headers without those that let caches store a response.
func withoutCaching(headers []Header) []Header {
	if !slices.ContainsFunc(headers, letsCache) {
		return headers
	}
	return slices.DeleteFunc(slices.Clone(headers), letsCache)
}

func letsCache(h Header) bool {
	switch name := http.CanonicalHeaderKey(h.Name); name {
	case "Edge-Control", "Expires", "Pragma", "Surrogate-Control", "X-Accel-Expires":
		return true
	default:
		return strings.HasSuffix(name, "Cache-Control") // also of a content delivery network
	}
}
