package describe

import (
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// parseNode parses an address in the forms that proxies write: with or without a port, and, for IPv6, with or without brackets.
func parseNode(text string) (netip.Addr, bool) {
	if name, port, _ := splitNode(text); isObfuscated(port) {
		text = name
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}

// isNode reports whether a string is a Forwarded node: an address, "unknown", or an obfuscated identifier, with or without a port (RFC
// 7239, 6). An IPv6 address requires brackets, because its last colon could otherwise be mistaken for the one before a port.
func isNode(text string) bool {
	name, port, hasPort := splitNode(text)
	if hasPort && !isPort(port) && !isObfuscated(port) {
		return false
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		return ok && err == nil && address.Is6() && address.Zone() == ""
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Is4() || strings.EqualFold(name, "unknown") || isObfuscated(name)
}

// splitNode splits a node at the colon before its port, if it has one.
func splitNode(text string) (name, port string, hasPort bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon <= strings.LastIndexByte(text, ']') {
		return text, "", false
	}
	return text[:colon], text[colon+1:], true
}

func isPort(text string) bool {
	return 0 < len(text) && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}

// isObfuscated reports whether a string replaces a name or a port that a proxy hides (RFC 7239, 6.3).
func isObfuscated(text string) bool {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	return len(text) > 1 && text[0] == '_' && !strings.ContainsFunc(text, isOther)
}

func isHost(text string) bool {
	_, err := url.Parse("//" + text)
	return err == nil && httpguts.ValidHostHeader(text)
}

// isScheme reports whether a string is a valid name of a URI scheme (RFC 3986, 3.1).
func isScheme(text string) bool {
	parsed, err := url.Parse(text + ":")
	return err == nil && strings.EqualFold(parsed.Scheme, text)
}
