package describe

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// ForwardedPair is an element that one proxy added to a Forwarded header (RFC 7239, 4).
type ForwardedPair struct {
	For   string `json:"for,omitempty"`
	By    string `json:"by,omitempty"`
	Host  string `json:"host,omitempty"`
	Proto string `json:"proto,omitempty"`
}

const (
	// maxChain is the maximum number of elements of a forwarding header that the response shows.
	maxChain = 100
	// maxParametersOfElement is the maximum number of parameters in an element. RFC 7239 defines four.
	maxParametersOfElement = 16
)

// parseForwardedFor returns the elements of X-Forwarded-For, starting at the client. Multiple headers form one list. The result has only
// the last maxChain elements, which the nearest proxies added.
func parseForwardedFor(values []string) []string {
	var chain []string
	for _, value := range slices.Backward(values) {
		for more := true; more && len(chain) < maxChain; {
			comma := strings.LastIndexByte(value, ',')
			if part := strings.TrimSpace(value[comma+1:]); part != "" {
				chain = append(chain, part)
			}
			more = comma >= 0
			value = value[:max(0, comma)]
		}
	}
	slices.Reverse(chain)
	return chain
}

// parseForwarded returns the elements of Forwarded, starting at the client. It returns nil if any element is invalid or there are more than
// maxChain elements, because a partial chain would be misleading. The result includes elements without a known parameter, because a proxy
// that adds such an element hides the elements before it.
func parseForwarded(values []string) []ForwardedPair {
	var chain []ForwardedPair
	for rest := strings.Join(values, ","); rest != ""; {
		var e forwardedElement
		next, ok := e.parse(rest)
		if !ok || len(chain) == maxChain {
			return nil
		}
		if len(e.names) > 0 {
			chain = append(chain, e.pair)
		}
		rest = next
	}
	return chain
}

type forwardedElement struct {
	pair  ForwardedPair
	names []string // parameter names, in lower case
}

// parse parses name=value pairs up to a comma or the end of the text, and returns the text after the comma.
func (e *forwardedElement) parse(text string) (rest string, ok bool) {
	rest = text
	for len(e.names) <= maxParametersOfElement {
		rest = strings.TrimLeft(rest, " \t;")
		if rest == "" || rest[0] == ',' {
			return strings.TrimPrefix(rest, ","), true
		}
		name, after, found := strings.Cut(rest, "=")
		if !found || !httpguts.ValidHeaderFieldName(name) {
			return "", false
		}
		var value string
		if value, rest, ok = parseValue(after); !ok || !e.add(strings.ToLower(name), value) {
			return "", false
		}
		rest = strings.TrimLeft(rest, " \t")
		if rest != "" && rest[0] != ',' && rest[0] != ';' {
			return "", false
		}
	}
	return "", false
}

// add adds a parameter. It returns false if the parameter is invalid or repeated. Parameters outside the RFC can have any value.
func (e *forwardedElement) add(name, value string) bool {
	if slices.Contains(e.names, name) {
		return false
	}
	e.names = append(e.names, name)
	switch name {
	case "for":
		e.pair.For = value
		return isNode(value)
	case "by":
		e.pair.By = value
		return isNode(value)
	case "host":
		e.pair.Host = value
		_, err := url.Parse("//" + value)
		return err == nil && httpguts.ValidHostHeader(value)
	case "proto":
		e.pair.Proto = value
		parsed, err := url.Parse(value + ":") // a valid name of a URI scheme (RFC 3986, 3.1)
		return err == nil && strings.EqualFold(parsed.Scheme, value)
	}
	return true
}

// parseValue parses a token or a quoted string (RFC 9110, 5.6), and returns the value and the rest of the text.
func parseValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ",; \t")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], httpguts.ValidHeaderFieldName(text[:end])
	}
	var unquoted strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return unquoted.String(), text[i+1:], true
		case '\\':
			i++
			if i == len(text) {
				return "", "", false
			}
		}
		unquoted.WriteByte(text[i])
	}
	return "", "", false
}

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
	isPort := 0 < len(port) && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
	if hasPort && !isPort && !isObfuscated(port) {
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

// isObfuscated reports whether a string replaces a name or a port that a proxy hides (RFC 7239, 6.3).
func isObfuscated(text string) bool {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	return len(text) > 1 && text[0] == '_' && !strings.ContainsFunc(text, isOther)
}
