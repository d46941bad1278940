package probe

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// serverFailure is the error text for SERVFAIL, which package net does not export.
const serverFailure = "server misbehaving"

// SilenceOf returns the part of the path that was silent when a request to a URL failed. If nothing responded, it queries the Echo's
// Service once, unless the Service's URL is empty.
func SilenceOf(ctx context.Context, err error, service string) verdict.Silence {
	url := silentPart(err)
	target, invalid := wire.ParseTarget(service, "")
	if url == "" || invalid != nil {
		return url
	}
	connection, err := target.Connect(ctx, wire.NewLimits())
	if err == nil {
		_ = connection.Close() // nothing was sent
	}
	return withService(url, silentPart(err))
}

// withService returns the silent part of the path, given the parts that were silent for the URL and for the Service.
func withService(url, service verdict.Silence) verdict.Silence {
	switch {
	case service == "" && url == verdict.SilentResolver:
		return "" // the resolver responds to queries for the Service's name, so only an upstream server of the resolver is silent
	case service == "":
		return url
	case url == verdict.SilentResolver && service == url:
		return url
	}
	return verdict.SilentAll
}

// silentPart returns the part of the path that was silent during a request: the resolver or the address. A refused connection counts as a
// response from a server, but not as a response from a resolver.
func silentPart(err error) verdict.Silence {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		if dns.Temporary() && dns.Err != serverFailure {
			return verdict.SilentResolver
		}
	case errors.As(err, &op) && op.Op == "dial" && (op.Timeout() || isUnreachable(op)):
		return verdict.SilentURL
	}
	return ""
}

// isUnreachable reports whether a connection failed because packets have no route to the server or are not allowed to reach it.
func isUnreachable(err error) bool {
	for _, code := range []syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
