package verdict

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseURL parses the URL of an Echo.
func ParseURL(text string) (*url.URL, error) {
	if u, err := url.Parse("http://" + text); !strings.Contains(text, "://") && err == nil && isPlain(u) {
		return nil, fmt.Errorf("%q has no scheme: write http://%[1]s or https://%[1]s", text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if !isPlain(u) {
		return nil, fmt.Errorf("%q is not a URL such as https://example.com/shop: a scheme, a host, and an optional port and path", text)
	}
	if strings.Contains(u.EscapedPath()+"/", "/../") || strings.Contains(u.EscapedPath(), "%") {
		return nil, fmt.Errorf("the path of %q must have neither dot segments nor escapes", text)
	}
	return u, nil
}

// isPlain reports whether a URL has only a scheme, a host, and optionally a port and a path.
func isPlain(u *url.URL) bool {
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16)
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		err == nil && port != 0
}

// ParseAddress returns an address with its own port or, if it has none, with the given port.
func ParseAddress(address, port string) (string, error) {
	host, own, err := net.SplitHostPort(address)
	if err != nil {
		host, own = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), port
	}
	_, isIP := netip.ParseAddr(host)
	if number, err := strconv.ParseUint(own, 10, 16); err != nil || number == 0 || isIP != nil &&
		(host == "" || strings.ContainsAny(host, ":/[]@? ")) {
		return "", fmt.Errorf("%q is not the address of a server: a host name or IP address with an optional port, such as 192.0.2.1:8443",
			address)
	}
	return net.JoinHostPort(host, own), nil
}
