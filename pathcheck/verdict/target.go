package verdict

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ParseURL parses the URL of an Echo. The host name of the result is ASCII. Errors do not contain the parts of the URL that can be secret.
func ParseURL(text string) (*url.URL, error) {
	if u, err := url.Parse("http://" + text); !strings.Contains(text, "://") && err == nil && isPlain(u) {
		return nil, fmt.Errorf("%q has no scheme: write http://%[1]s or https://%[1]s", text)
	}
	u, err := url.Parse(text)
	ascii := ""
	if err == nil {
		ascii, err = asciiName(u.Hostname())
	}
	if err != nil || !isPlain(u) { // the error from Parse repeats the URL
		return nil, fmt.Errorf("%q is not a URL such as https://example.com/shop: a scheme, a host, and an optional port and path", Public(text))
	}
	if strings.Contains(u.EscapedPath()+"/", "/../") || strings.Contains(u.EscapedPath(), "%") {
		return nil, fmt.Errorf("the path of %q must have neither dot segments nor escapes", text)
	}
	u.Host = strings.Replace(u.Host, u.Hostname(), ascii, 1)
	return u, nil
}

// secret matches the user and the query of a URL, which may be invalid. If it cannot distinguish them, it matches all after the scheme.
var secret = regexp.MustCompile(`(?s)^([a-z]+://)?[^?#]*(@[^@?#]*)(?:[?#][^@]*)?$|^([a-z]+://)?.*@.*$|([?#]).*`)

// Public returns a URL without the parts that can be secret.
func Public(text string) string { return secret.ReplaceAllString(text, "${1}${3}${4}[hidden]${2}") }

// asciiName returns the form of a host name that DNS, Host headers, and certificates use.
func asciiName(name string) (string, error) {
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return name, nil // names that are not valid for IDNA, such as a_b, may exist
	}
	return idna.Lookup.ToASCII(name)
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
			Public(address))
	}
	host, err = asciiName(host)
	return net.JoinHostPort(host, own), err
}
