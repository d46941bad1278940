package main

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// describeCall returns the message echo.v1.Call.
func (c *grpcCall) describeCall() protobuf {
	var call protobuf
	r := c.request
	call.text(1, r.RequestURI)
	call.text(2, r.Host)
	appendMetadata(&call, 3, c.redaction.apply(r.Header))
	call.text(4, c.exchange.id)
	client := describeClient(r, c.trustedProxies)
	if !c.showIdentity {
		client.hideProxies(c.trustedProxies)
	}
	call.text(5, client.Remote)
	call.text(6, client.Address)
	call.message(7, c.describeServer())
	if state := describeTLS(tlsState(r)); state != nil {
		call.message(8, state.message())
	}
	return call
}

// describeServer returns the message echo.v1.Server.
func (h *handler) describeServer() protobuf {
	var server protobuf
	i := &h.identity
	if h.showIdentity {
		for n, value := range []string{i.Namespace, i.Ingress, i.Service, i.Pod, i.Node, i.PodIP, i.HostIP, version} {
			server.text(uint64(n)+1, value)
		}
	}
	server.bool(9, h.life.draining.Load())
	for _, name := range slices.Sorted(maps.Keys(i.Info)) {
		appendPair(&server, 10, name, i.Info[name])
	}
	return server
}

// message returns the message echo.v1.TLS, which is also the message TLSAssertions of the Gateway API.
func (a *tlsAnswer) message() protobuf {
	var p protobuf
	p.text(1, a.Version)
	p.text(2, a.NegotiatedProtocol)
	p.text(3, a.ServerName)
	p.text(4, a.CipherSuite)
	for _, certificate := range a.PeerCertificates {
		p.text(5, certificate)
	}
	return p
}

// appendMetadata appends each value of the metadata as a message with a key and a value. Keys are in lower case, as they were received.
func appendMetadata(p *protobuf, number uint64, metadata http.Header) {
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		for _, value := range metadata[name] {
			appendPair(p, number, strings.ToLower(name), value)
		}
	}
}

// appendPair appends a message with a key and a value, such as an entry of a map.
func appendPair(p *protobuf, number uint64, key, value string) {
	var pair protobuf
	pair.text(1, key)
	pair.text(2, value)
	p.message(number, pair)
}

// echoGatewayAPI serves GrpcEcho of the conformance suite of the Gateway API, whose client can parse the response.
func echoGatewayAPI(ctx context.Context, c *grpcCall) error {
	message, err := c.receiveOne(ctx)
	if err != nil {
		return err
	}
	message.release() // it has no fields
	var where, assertions, response protobuf
	if i := &c.identity; c.showIdentity {
		for n, value := range []string{i.Namespace, i.Ingress, i.Service, i.Pod} {
			where.text(uint64(n)+1, value)
		}
	}
	r := c.request
	assertions.text(1, r.RequestURI)
	appendPair(&assertions, 2, ":authority", r.Host)
	appendMetadata(&assertions, 2, c.redaction.apply(r.Header))
	assertions.text(3, r.Host)
	assertions.message(4, where)
	if state := describeTLS(tlsState(r)); state != nil {
		assertions.message(5, state.message())
	}
	response.message(1, assertions)
	return c.send(response)
}
