package controls

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Policy determines to what extent requests can control responses.
type Policy string

const (
	// Safe allows only controls that cannot make a cache, a proxy, or a browser affect other clients.
	Safe Policy = "Safe"
	// Full, which is for private networks, allows all controls except headers that browsers store.
	Full Policy = "Full"
	// None ignores all controls in requests.
	None Policy = "None"
)

// needsFull describes how to allow the controls that Safe rejects.
const needsFull = "on a private network, spec.server.controls: Full (ECHO_CONTROLS=Full) allows it"

// parseStatus parses a status. Unless the policy is Full, it rejects statuses that make clients show a login prompt for a proxy or network.
func (p Policy) parseStatus(text string) (int, error) {
	status, err := ParseStatus(text)
	if p != Full && (status == http.StatusProxyAuthRequired || status == http.StatusNetworkAuthenticationRequired) {
		return 0, fmt.Errorf("%d requests a login; %s", status, needsFull)
	}
	return status, err
}

// mustBeFull returns an error with the given reason unless the policy is Full.
func (p Policy) mustBeFull(why string) error {
	if p != Full {
		return errors.New(why + "; " + needsFull)
	}
	return nil
}

// checkHeader rejects a header that the policy does not allow. Unless the policy is Full, it allows only headers that do not make any
// known proxy, cache, or browser affect other clients. The name must be in canonical form.
func (p Policy) checkHeader(h Header) error {
	switch {
	case p == Full, h.Name == "Content-Language", h.Name == "Content-Type", h.Name == "Retry-After", isOwnName(h.Name):
		return nil
	case h.Name == "Location":
		// Browsers ignore tabs, and treat a backslash like a slash. Every client interprets all other paths as on the same origin.
		isOther := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
		if !strings.HasPrefix(h.Value, "/") || strings.Contains(h.Value, "//") || strings.ContainsFunc(h.Value, isOther) {
			return fmt.Errorf("the Location %.100q is not a path on this server, such as /shop; %s", h.Value, needsFull)
		}
		return nil
	}
	return fmt.Errorf("%.100s cannot be set by a request: allowed headers are Content-Language, Content-Type, Location, Retry-After, and "+
		"names such as X-Color, X-Test-Color, X-Custom-Color, X-Example-Color, and X-My-Color; %s", h.Name, needsFull)
}

// isOwnName reports whether the canonical name of a header has no meaning to any known software. Proxies, content delivery networks, and
// frameworks act on some headers whose names begin with X-, and no list of these names is complete. Such names nearly always have several
// words after X-, as in X-Accel-Redirect. Therefore, isOwnName accepts a single unknown word, and any words after one of a few prefixes.
func isOwnName(name string) bool {
	rest, ok := strings.CutPrefix(name, "X-")
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	}
	if !ok || rest == "" || strings.ContainsFunc(rest, isOther) {
		return false
	}
	first, _, several := strings.Cut(rest, "-")
	if several {
		return slices.Contains([]string{"Custom", "Example", "My", "Test"}, first)
	}
	switch first { // servers, caches, or frameworks usually act on a header with one of these words
	case "Age", "Auth", "Authorization", "Backend", "Ban", "Bypass", "Cache", "Cacheable", "Callback", "Charset", "Cluster", "Compress",
		"Cookie", "Cors", "Csp", "Csrftoken", "Debug", "Encoding", "Error", "Esi", "Expires", "File", "Forward", "Forwarded", "Frame",
		"Grace", "Gzip", "Host", "Html", "Inertia", "Json", "Keep", "Key", "Language", "Location", "Login", "Logout", "Method",
		"Middleware", "Moz", "Netlify", "Nf", "Nginx", "Nonce", "Override", "Pad", "Pagespeed", "Path", "Permissions", "Pingback", "Pjax",
		"Policy", "Powered", "Proto", "Proxy", "Purge", "Query", "Redirect", "Refresh", "Reload", "Reproxy", "Retry", "Rewrite", "Robots",
		"Route", "Router", "Scheme", "Script", "Sendfile", "Server", "Session", "Sourcemap", "Ssl", "Status", "Stream", "Surrogate", "Tag",
		"Tags", "Target", "Template", "Token", "Transform", "Ttl", "Turbolinks", "Upstream", "Uri", "Url", "User", "Varnish", "Vary", "Vercel",
		"Via", "Xhr", "Xkey":
		return false
	}
	return true
}

// unprotected returns only the headers that any response may have: they neither let caches store it, nor change how clients treat its body.
func unprotected(headers []Header) []Header {
	return slices.DeleteFunc(withoutCaching(headers), func(h Header) bool {
		return slices.Contains([]string{"Content-Encoding", "Content-Security-Policy", "Content-Type", "X-Content-Type-Options"},
			http.CanonicalHeaderKey(h.Name))
	})
}

// withoutCaching returns only the headers that do not let caches store a response.
func withoutCaching(headers []Header) []Header {
	return slices.DeleteFunc(slices.Clone(headers), func(h Header) bool {
		switch name := http.CanonicalHeaderKey(h.Name); name {
		case "Edge-Control", "Expires", "Pragma", "Surrogate-Control", "X-Accel-Expires":
			return true
		default:
			return strings.HasSuffix(name, "Cache-Control") // includes headers for content delivery networks
		}
	})
}
