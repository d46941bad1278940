package describe

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// ForwardedPair is an element of a Forwarded header, which one proxy added (RFC 7239, 4).
type ForwardedPair struct {
	For   string `json:"for,omitempty"`
	By    string `json:"by,omitempty"`
	Host  string `json:"host,omitempty"`
	Proto string `json:"proto,omitempty"`
}

// maxChain is the maximum number of elements of a forwarding header that are shown.
const maxChain = 100

// parseForwardedFor returns the elements of X-Forwarded-For, starting at the client. Several headers are one list. Of more than maxChain
// elements it returns the last ones: those that the nearest proxies added.
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

// parseForwarded returns the elements of Forwarded, starting at the client. It returns nil if any is malformed or there are more than
// maxChain, because part of a chain would be misleading.
func parseForwarded(values []string) []ForwardedPair {
	var chain []ForwardedPair
	for rest := strings.Join(values, ","); rest != ""; {
		element, next, ok := parseElement(rest)
		if !ok || len(chain) == maxChain {
			return nil
		}
		if element != (ForwardedPair{}) {
			chain = append(chain, element)
		}
		rest = next
	}
	return chain
}

// parseElement parses less than maxChain name=value pairs up to a comma or the end, and returns the rest after the comma.
func parseElement(text string) (element ForwardedPair, rest string, ok bool) {
	rest = text
	for range maxChain {
		rest = strings.TrimLeft(rest, " \t;")
		if rest == "" || rest[0] == ',' {
			return element, strings.TrimPrefix(rest, ","), true
		}
		name, after, found := strings.Cut(rest, "=")
		if !found || !httpguts.ValidHeaderFieldName(name) {
			return element, "", false
		}
		var value string
		if value, rest, ok = parseValue(after); !ok {
			return element, "", false
		}
		element.set(strings.ToLower(name), value)
		rest = strings.TrimLeft(rest, " \t")
		if rest != "" && rest[0] != ',' && rest[0] != ';' {
			return element, "", false
		}
	}
	return element, "", false
}

// set sets a parameter and ignores those that the RFC does not define.
func (p *ForwardedPair) set(name, value string) {
	switch name {
	case "for":
		p.For = value
	case "by":
		p.By = value
	case "host":
		p.Host = value
	case "proto":
		p.Proto = value
	}
}

// parseValue parses a token or a quoted string (RFC 9110, 5.6.4), and returns the rest. Addresses with colons or brackets must be
// quoted, but some proxies do not, and the meaning is clear.
func parseValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ",; \t")
		if end < 0 {
			end = len(text)
		}
		value = text[:end]
		return value, text[end:], httpguts.ValidHeaderFieldName(strings.Map(withoutAddressMarks, value))
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

func withoutAddressMarks(r rune) rune {
	if r == ':' || r == '[' || r == ']' {
		return '-'
	}
	return r
}

// parseNode parses an address as proxies write it: with or without a port, and IPv6 with or without brackets.
func parseNode(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}
