// Package grpc serves gRPC, gRPC-Web, and Connect calls: echoes, health, and reflection.
package grpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
)

const (
	// grpcMediaType is the media type of gRPC with protobuf, and the prefix of the media types of gRPC-Web and of other encodings.
	grpcMediaType = "application/grpc"
	// webMediaType is the prefix of gRPC-Web media types, and connectMediaType is the prefix of Connect stream media types.
	webMediaType     = "application/grpc-web"
	connectMediaType = "application/connect+"

	// maxMessage is the maximum size, in bytes, of a message to the echo services.
	maxMessage = 1 << 20
	// maxShortMessage is the maximum size, in bytes, of a message to the health and reflection services, whose responses repeat the message.
	maxShortMessage = 4 << 10
	// maxQuoted is the maximum size, in bytes, of a client-supplied value that an error quotes.
	maxQuoted = 128

	healthCheckProcedure = "/" + grpchealth.HealthV1ServiceName + "/Check"
)

// IsCall reports whether a request is a gRPC, gRPC-Web, or Connect call. gRPC requires HTTP/2. Unary Connect calls have the media types of
// ordinary requests, so they need the Connect-Protocol-Version header.
func IsCall(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	contentType := strings.ToLower(r.Header.Get("Content-Type"))
	switch {
	case strings.HasPrefix(contentType, webMediaType), strings.HasPrefix(contentType, connectMediaType):
		return true
	case strings.HasPrefix(contentType, grpcMediaType):
		return r.ProtoMajor == 2
	}
	return r.Header.Get("Connect-Protocol-Version") != ""
}

// IsHealthCheck reports whether a request is a health check. Health checks are not logged.
func IsHealthCheck(r *http.Request) bool {
	return r.RequestURI == healthCheckProcedure && IsCall(r)
}

// Config contains the server settings and state that calls need.
type Config struct {
	Describer *describe.Describer
	Chooser   *controls.Chooser
	Delays    *exchange.Delays
	Called    func(method, status string) // counts a call by method and status name; an unknown method is counted as "other"
	Rejected  func(reason string)         // counts a message that was rejected because of a limit
	NotReady  <-chan struct{}             // closed when the server begins to drain
	Ending    <-chan struct{}             // closed when the server stops
}

// Handler serves gRPC, gRPC-Web, and Connect calls.
type Handler struct {
	Config
	procedures map[string]http.Handler // by path
	unknown    *connect.ErrorWriter
}

// NewHandler returns a handler that serves all gRPC services.
func NewHandler(c Config) *Handler {
	h := &Handler{Config: c, procedures: map[string]http.Handler{}, unknown: connect.NewErrorWriter()}
	echoes := h.options(maxMessage, controls.Call)
	h.add("Unary", "ServerStream", "ClientStream", "BidiStream")(echov1.NewEchoHandler(&echoService{h}, echoes))
	h.add("Echo", "EchoTwo", "EchoThree")(grpcecho.NewGrpcEchoHandler(&gatewayAPIService{handler: h}, echoes))
	short := h.options(maxShortMessage, controls.Other)
	h.add("Check", "Watch")(grpchealth.NewHandler(&healthChecker{h}, short))
	reflector := grpcreflect.NewStaticReflector(echov1.EchoName, grpcecho.GrpcEchoName, grpchealth.HealthV1ServiceName,
		grpcreflect.ReflectV1ServiceName, grpcreflect.ReflectV1AlphaServiceName)
	h.add("ServerReflectionInfo")(grpcreflect.NewHandlerV1(reflector, short))
	h.add("ServerReflectionInfo")(grpcreflect.NewHandlerV1Alpha(reflector, short))
	return h
}

func (h *Handler) add(methods ...string) func(path string, handler http.Handler) {
	return func(path string, handler http.Handler) {
		for _, method := range methods {
			h.procedures[path+method] = handler
		}
	}
}

// options returns the options of a service. The options disable compression, because a decompressed message could be huge.
func (h *Handler) options(maxMessage int, target controls.Target) connect.HandlerOption {
	gate := func(ctx context.Context, spec connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
		c := callOf(ctx)
		c.limit = int64(maxMessage) + prefixSize
		if c.err = h.begin(ctx, c, spec.StreamType); c.err == nil {
			c.err = h.control(ctx, c, target)
		}
		return ctx, c.err
	}
	return connect.WithHandlerOptions(connect.WithCompression("gzip", nil, nil), connect.WithReadMaxBytes(maxMessage),
		connect.WithCodec(jsonCodec{}), connect.WithRequestGate(gate), connect.WithInterceptors(callInterceptor{}))
}

// Serve serves a call. It matches the path without decoding it, because method paths contain no escapes.
func (h *Handler) Serve(e *exchange.Exchange, r *http.Request) {
	c := &call{Exchange: e, request: r, rejected: h.Rejected, controller: http.NewResponseController(e)}
	ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), callKey{}, c))
	c.cancel = cancel
	defer func() { // over HTTP/1.1, net/http then reads the data that the client is still sending, and writes the end of the response
		c.cancel(nil)
		c.watching.Wait()
		_ = exchange.SetDeadlines(e, time.Now().Add(exchange.StallTimeout))
	}()
	_ = c.controller.EnableFullDuplex() // otherwise, HTTP/1.1 responses would wait for the whole request; HTTP/2 is always full-duplex
	forConnect := r.WithContext(ctx)
	forConnect.Body, forConnect.Header = c, shortHeader(r.Header)
	label := "other"
	if procedure := h.procedures[r.RequestURI]; procedure != nil {
		label = r.RequestURI[1:]
		procedure.ServeHTTP(c, forConnect)
	} else {
		c.err = connect.NewError(connect.CodeUnimplemented, fmt.Errorf("unknown method %s", exchange.Truncate(r.RequestURI)))
		_ = h.unknown.Write(c, forConnect, c.err) // the client may have disconnected
	}
	if code, ok := c.code(); ok {
		e.GRPCStatus = codeName(code)
		h.Called(label, e.GRPCStatus)
	}
}

// shortHeader returns a copy of a header. It removes media type parameters, which Connect does not expect, and truncates long values, which
// Connect quotes in errors.
func shortHeader(header http.Header) http.Header {
	short := make(http.Header, len(header))
	for name, values := range header {
		if len(values[0]) > maxQuoted {
			values = []string{values[0][:maxQuoted]}
		}
		short[name] = values
	}
	mediaType, _, _ := strings.Cut(short.Get("Content-Type"), ";")
	short.Set("Content-Type", strings.ToLower(strings.TrimSpace(mediaType)))
	return short
}

// begin is called before Connect reads a call's first message. The call's context expires at the client's deadline. For a stream, it is
// canceled when the server stops.
func (h *Handler) begin(ctx context.Context, c *call, kind connect.StreamType) error {
	c.cause = func() error { return context.Cause(ctx) }
	c.deadline, _ = ctx.Deadline()
	c.patience = messageTimeout
	if kind&connect.StreamTypeClient != 0 {
		c.patience = betweenMessages
	}
	isStream := kind != connect.StreamTypeUnary
	if !c.Acquire(callCost) || isStream && !c.Acquire(streamCost) {
		return c.outOfMemory()
	}
	if !isStream {
		return nil
	}
	c.watching.Go(func() {
		select {
		case <-h.Ending:
			c.cancel(connect.NewError(connect.CodeUnavailable, errors.New("the server is stopping")))
			_ = c.controller.SetReadDeadline(time.Now()) // ends reading
		case <-ctx.Done():
		}
	})
	return nil
}

// jsonCodec is Connect's JSON codec, but with short errors. protojson errors quote values from the message, which can be long.
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (jsonCodec) Marshal(message any) ([]byte, error) {
	m, _ := message.(proto.Message) // the services have no other messages
	return protojson.Marshal(m)
}

// Unmarshal ignores unknown fields, which clients of a newer API version may send.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, _ := message.(proto.Message) // the services have no other messages
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
		return errors.New(exchange.Truncate(err.Error()))
	}
	return nil
}

// statusServiceUnknown is SERVICE_UNKNOWN in grpc.health.v1, for which grpchealth defines no constant. Only Watch returns this status.
const statusServiceUnknown grpchealth.Status = 3

// healthChecker implements grpchealth.Checker and grpchealth.Watcher.
type healthChecker struct{ handler *Handler }

var _ grpchealth.Watcher = (*healthChecker)(nil) // grpchealth checks this only at run time

// Check reports the status of a service. An empty name means the server as a whole.
func (h *healthChecker) Check(ctx context.Context, request *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	status := grpchealth.StatusServing
	switch {
	case !slices.Contains([]string{"", echov1.EchoName, grpcecho.GrpcEchoName}, request.Service):
		if info, ok := connect.CallInfoForHandlerContext(ctx); ok && info.Spec().Procedure == healthCheckProcedure {
			return nil, connect.NewError(connect.CodeNotFound, errors.New("unknown service "+exchange.Truncate(request.Service)))
		}
		status = statusServiceUnknown
	case h.handler.Describer.Draining():
		status = grpchealth.StatusNotServing
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}

func (h *healthChecker) Watch(ctx context.Context, _ *grpchealth.CheckRequest, onChange func()) (stop func(), err error) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		select {
		case <-h.handler.NotReady:
			onChange()
		case <-ctx.Done():
		}
	}()
	return stop, nil
}
