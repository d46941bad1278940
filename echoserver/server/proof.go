package server

import (
	"net/http"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/internal/proof"
)

// sign responds to a nonce with a proof that this server belongs to an Echo, and with the number of requests that have contained the nonce.
// A number above 1 means that a proxy retried the request.
func sign(header http.Header, r *http.Request, by *describe.Identity, attempts *controls.Counts) {
	values := r.Header[proof.RequestHeader]
	if len(values) != 1 {
		return
	}
	echo := proof.Echo{Namespace: by.Namespace, Name: by.Service} // a Service has the same name as its Echo
	if nonce, digest, ok := echo.Respond(values[0]); ok {
		header.Set(proof.ResponseHeader, proof.Value(digest, attempts.Next(attempts.Hash(nonce))))
	}
}
