package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestSign requests proofs on all routes, with settings that change responses or hide the server's identity.
func TestSign(t *testing.T) {
	web := proof.Echo{Namespace: "shop", Name: "web"}
	pod := []string{"POD_NAMESPACE=shop", "SERVICE_NAME=web"}
	for _, setting := range []string{"ECHO_IDENTITY=false", "ECHO_CONTROLS=None", "ECHO_RESPONSE_BODY=x", "ECHO_RESPONSE_STATUS=503"} {
		h := handlerOf(t, append(pod, setting)...)
		for i, target := range []string{"/", "/-/livez", "/-/ws", "/-/unknown", "/?echo.nonsense=1"} {
			nonce := fmt.Sprintf("%016x", i)
			for asked := range 2 {
				w := echotest.Record(h, target, proof.RequestHeader, web.Ask(nonce))
				if attempt, ok := web.Verify(nonce, w.Header().Get(proof.ResponseHeader)); !ok || attempt != asked+1 {
					t.Errorf("%s, %s: the proof is %q", setting, target, w.Header()[proof.ResponseHeader])
				}
			}
		}
	}
}

// TestSign_withoutEchoName requests proofs as a client that does not know the name of the Echo.
func TestSign_withoutEchoName(t *testing.T) {
	nonce, other := "0123456789abcdef", proof.Echo{Namespace: "shop", Name: "other"}
	h := handlerOf(t, "POD_NAMESPACE=shop", "SERVICE_NAME=web")
	for _, value := range []string{nonce, other.Ask(nonce)} {
		w := echotest.Record(h, "/", proof.RequestHeader, value)
		if _, ok := (proof.Echo{}).Verify(nonce, w.Header().Get(proof.ResponseHeader)); !ok {
			t.Errorf("%s: the response does not prove that this is an Echo: %q", value, w.Header()[proof.ResponseHeader])
		}
	}
	for _, values := range [][]string{{}, {"short"}, {nonce, nonce}, {nonce + "," + nonce}} {
		var headers []string
		for _, value := range values {
			headers = append(headers, proof.RequestHeader, value)
		}
		if got := echotest.Record(h, "/", headers...).Header()[proof.ResponseHeader]; got != nil {
			t.Errorf("%q has the proof %q", values, got)
		}
	}
}

// TestSign_provesStreamsAndCalls requests proofs over real connections, which streamed responses and gRPC calls require.
func TestSign_provesStreamsAndCalls(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for i, path := range []string{"/-/body", "/echo.v1.Echo/Unary"} {
			nonce := fmt.Sprintf("%s%016x", strings.ToLower(proto[len("HTTP/"):len("HTTP/")+1]), i)
			got := echotest.Send(t, client, http.MethodPost, server.URL+path, "", proof.RequestHeader, nonce, "Content-Type", grpcType)
			if _, ok := (proof.Echo{}).Verify(nonce, got.Header.Get(proof.ResponseHeader)); !ok {
				t.Errorf("%s, %s: the proof is %q", proto, path, got.Header[proof.ResponseHeader])
			}
		}
	}
}
