package grpc

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

func (h *Handler) describe(c *call) (*echov1.Call, error) {
	r := c.request
	if !c.acquireDescription() {
		return nil, c.outOfMemory()
	}
	i := &h.Describer.Identity
	server := &echov1.Server{Draining: h.Describer.Draining(), Info: map[string]string{}}
	if h.Describer.ShowIdentity {
		server.Namespace, server.Ingress, server.Service = describe.ValidText(i.Namespace), describe.ValidText(i.Ingress), describe.ValidText(i.Service)
		server.Pod, server.Node, server.PodIp, server.HostIp = describe.ValidText(i.Pod), describe.ValidText(i.Node), describe.ValidText(i.PodIP), describe.ValidText(i.HostIP)
		server.Version = h.Describer.Version
	}
	for name, value := range i.Info {
		server.Info[describe.ValidText(name)] = describe.ValidText(value)
	}
	client := h.Describer.Client(r)
	described := &echov1.Call{Method: describe.ValidText(r.RequestURI), Authority: describe.ValidText(r.Host), RequestId: describe.ValidText(c.ID),
		RemoteAddress: client.Remote, ClientAddress: client.Address, Server: server}
	var raw describe.RawList
	raw.Add(describe.Raw{Where: "authority"}, r.Host)
	metadata := raw.AddFields("metadata", h.Describer.Redaction.Apply(r.Header))
	eachMetadata(metadata, func(key, value string) {
		described.Metadata = append(described.Metadata, &echov1.Metadata{Key: key, Value: value})
	})
	if state := describe.DescribeTLS(transport.TLSStateOf(r)); state != nil {
		raw.Add(describe.Raw{Where: "serverName"}, state.ServerName)
		described.Tls = &echov1.TLS{Version: state.Version, NegotiatedProtocol: state.NegotiatedProtocol,
			ServerName: describe.ValidText(state.ServerName), CipherSuite: state.CipherSuite, PeerCertificates: state.PeerCertificates}
	}
	for _, each := range raw {
		described.Raw = append(described.Raw, &echov1.Raw{Where: each.Where, Name: strings.ToLower(each.Name), Index: uint32(each.Index),
			Value: each.Base64})
	}
	return described, nil
}

// acquireDescription acquires the part of a description's memory that the cost of the request does not include.
func (c *call) acquireDescription() bool {
	return c.acquire(descriptionFactor*max(0, c.HeaderSize-transport.IncludedHeader) + 2*describe.CertificateBytes(c.request))
}

// eachMetadata calls visit with each value of the metadata, sorted by key. Keys are in lowercase, as in HTTP/2.
func eachMetadata(metadata http.Header, visit func(key, value string)) {
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		for _, value := range metadata[name] {
			visit(describe.ValidText(strings.ToLower(name)), describe.ValidText(value))
		}
	}
}

// gatewayAPIService implements the GrpcEcho service, whose responses the Gateway API conformance suite's client can parse.
type gatewayAPIService struct {
	grpcecho.UnimplementedGrpcEchoHandler
	handler *Handler
}

func (s *gatewayAPIService) Echo(ctx context.Context, _ *grpcecho.EchoRequest) (*grpcecho.EchoResponse, error) {
	c, h := callOf(ctx), s.handler
	r := c.request
	if !c.acquireDescription() {
		return nil, c.outOfMemory()
	}
	assertions := &grpcecho.Assertions{FullyQualifiedMethod: describe.ValidText(r.RequestURI), Authority: describe.ValidText(r.Host), Context: &grpcecho.Context{}}
	if i := &h.Describer.Identity; h.Describer.ShowIdentity {
		assertions.Context = &grpcecho.Context{Namespace: describe.ValidText(i.Namespace), Ingress: describe.ValidText(i.Ingress),
			ServiceName: describe.ValidText(i.Service), Pod: describe.ValidText(i.Pod)}
	}
	assertions.Headers = append(assertions.Headers, &grpcecho.Header{Key: ":authority", Value: assertions.Authority})
	eachMetadata(h.Describer.Redaction.Apply(r.Header), func(key, value string) {
		assertions.Headers = append(assertions.Headers, &grpcecho.Header{Key: key, Value: value})
	})
	if state := describe.DescribeTLS(transport.TLSStateOf(r)); state != nil {
		assertions.TlsAssertions = &grpcecho.TLSAssertions{Version: state.Version, NegotiatedProtocol: state.NegotiatedProtocol,
			ServerName: describe.ValidText(state.ServerName), CipherSuite: state.CipherSuite, PeerCertificates: state.PeerCertificates}
	}
	return &grpcecho.EchoResponse{Assertions: assertions}, nil
}

func (s *gatewayAPIService) EchoTwo(ctx context.Context, request *grpcecho.EchoRequest) (*grpcecho.EchoResponse, error) {
	return s.Echo(ctx, request)
}
