package main

import (
	"net/http"
	"net/netip"
)

// client is who sent a request, as far as the server can tell.
type client struct {
	// Remote is the other end of the connection: the client, or the last proxy.
	Remote string `json:"remoteAddress"`
	// Address is the client's, once the proxies that are trusted have been believed. Empty: the client hides it.
	Address string `json:"address,omitempty"`
	// ForwardedFor and Forwarded are what the headers say, first the client's end. They are only as true as who sent them.
	ForwardedFor []string        `json:"forwardedFor,omitempty"`
	Forwarded    []forwardedPair `json:"forwarded,omitempty"`
}

func describeClient(r *http.Request, trusted []netip.Prefix) client {
	c := client{Remote: r.RemoteAddr, ForwardedFor: parseForwardedFor(r.Header["X-Forwarded-For"]),
		Forwarded: parseForwarded(r.Header["Forwarded"])}
	c.Address = clientAddress(c.Remote, c.chain(), trusted)
	return c
}

// chain is what the proxies report, first the client's end. X-Forwarded-For goes before Forwarded: proxies that write the latter
// nearly always write the former too, while one that writes only the former passes on a Forwarded that a client made up.
func (c *client) chain() []string {
	if len(c.ForwardedFor) > 0 {
		return c.ForwardedFor
	}
	chain := make([]string, len(c.Forwarded))
	for i, pair := range c.Forwarded {
		chain[i] = pair.For
	}
	return chain
}

// clientAddress goes from the connection's other end towards the client for as long as it meets proxies that are trusted. It
// is empty if a trusted proxy reports what is no address, such as "unknown" (RFC 7239, 6.2).
func clientAddress(remote string, chain []string, trusted []netip.Prefix) string {
	address, ok := parseNode(remote)
	for i := len(chain) - 1; i >= 0 && ok && isTrusted(address, trusted); i-- {
		address, ok = parseNode(chain[i])
	}
	if !ok {
		return ""
	}
	return address.String()
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	for _, prefix := range trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
