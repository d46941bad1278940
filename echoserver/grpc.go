package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// grpcType is the media type of gRPC with protobuf. Those of other protocols and encodings begin with it.
const grpcType = "application/grpc"

// The names of the services.
const (
	healthService     = "grpc.health.v1.Health"
	echoService       = "echo.v1.Echo"
	gatewayAPIService = "gateway_api_conformance.echo_basic.grpcecho.GrpcEcho"
)

// isGRPC reports whether a request is one of gRPC, or of a protocol or encoding that is related to gRPC. Over HTTP/1.1, which gRPC cannot
// use, a request is echoed.
func isGRPC(r *http.Request) bool {
	if r.ProtoMajor != 2 || r.Method != http.MethodPost {
		return false
	}
	contentType := r.Header.Get("Content-Type")
	return len(contentType) >= len(grpcType) && strings.EqualFold(contentType[:len(grpcType)], grpcType)
}

// isProtobuf reports whether the content type is that of gRPC with messages in protobuf.
func isProtobuf(contentType string) bool {
	mediaType, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	mediaType = strings.TrimSpace(mediaType)
	return mediaType == grpcType || mediaType == grpcType+"+proto"
}

// isGRPCHealthCheck reports whether a request is a probe, which is not logged.
func isGRPCHealthCheck(r *http.Request) bool {
	return isGRPC(r) && r.RequestURI == "/"+healthService+"/Check"
}

// grpcMethod is how a method is served.
type grpcMethod struct {
	serve      func(context.Context, *grpcCall) error
	isStream   bool // ends when the server ends
	hasControl bool // heeds the controls
}

// grpcMethodOf returns a method by its path, or nil. It is compared as it was received, because paths of gRPC are not encoded.
func grpcMethodOf(path string) *grpcMethod {
	switch path {
	case "/" + healthService + "/Check":
		return &grpcMethod{serve: checkHealth}
	case "/" + healthService + "/List":
		return &grpcMethod{serve: listHealth}
	case "/" + healthService + "/Watch":
		return &grpcMethod{serve: watchHealth, isStream: true}
	case "/" + gatewayAPIService + "/Echo", "/" + gatewayAPIService + "/EchoTwo":
		return &grpcMethod{serve: echoGatewayAPI, hasControl: true}
	case "/" + echoService + "/Unary":
		return &grpcMethod{serve: echoUnary, hasControl: true}
	case "/" + echoService + "/ServerStream":
		return &grpcMethod{serve: echoServerStream, isStream: true, hasControl: true}
	case "/" + echoService + "/ClientStream":
		return &grpcMethod{serve: echoClientStream, isStream: true, hasControl: true}
	case "/" + echoService + "/BidiStream":
		return &grpcMethod{serve: echoBidiStream, isStream: true, hasControl: true}
	case "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo":
		return &grpcMethod{serve: serveReflection, isStream: true}
	}
	return nil
}

// grpc serves a call. Its status is in the trailers; that of HTTP is always 200, unless the content type is not supported.
func (h *handler) grpc(e *exchange, r *http.Request) {
	if !isProtobuf(r.Header.Get("Content-Type")) {
		refuse(e, http.StatusUnsupportedMediaType, "the Content-Type of gRPC must be application/grpc or application/grpc+proto")
		return
	}
	header := e.Header()
	header.Set("Content-Type", grpcType)
	header.Set("Grpc-Accept-Encoding", "identity")
	method, label := grpcMethodOf(r.RequestURI), "other"
	if method != nil {
		label = r.RequestURI[1:]
	}
	status := grpcStatusOf(h.call(e, r, method))
	h.metrics.called(label, status.code)
	e.grpcStatus = status.code.String()
	_ = http.NewResponseController(e).Flush() // sends the headers now, if not before: what is set below are trailers; the client may be gone
	header.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(status.code)))
	if status.message != "" {
		header.Set(http.TrailerPrefix+"Grpc-Message", percentEncoded(status.message))
	}
}

// call serves a call of a method, which may be nil, and returns the error for its status.
func (h *handler) call(e *exchange, r *http.Request, method *grpcMethod) error {
	if method == nil {
		return grpcErrorf(grpcUnimplemented, "unknown method %s", cut(r.RequestURI))
	}
	if encoding := r.Header.Get("Grpc-Encoding"); encoding != "" && encoding != "identity" {
		return grpcErrorf(grpcUnimplemented, "grpc-encoding: %q is not supported, only identity", cut(encoding))
	}
	ctx, c, end, err := h.start(e, r, method.isStream)
	if err != nil {
		return err
	}
	defer end()
	if method.hasControl {
		if err := c.control(ctx); err != nil {
			return err
		}
	}
	return method.serve(ctx, c)
}
