package transport

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// maxStreams is the maximum number of requests in progress on an HTTP/2 connection of a served.
const maxStreams = 32

// served is a server that uses the transport, with its log of rejections and their number by reason.
type served struct {
	*http.Server
	bounds *Bounds
	log    echotest.LockedBuffer
	mutex  sync.Mutex
	counts map[string]int
}

// newServed returns a server whose handler describes the request's TLS connection, and does not read the body.
func newServed() *served {
	s := &served{bounds: newTestBounds(), counts: map[string]int{}}
	s.bounds.Reporter = NewReporter(slog.New(slog.NewJSONHandler(&s.log, nil)), func(reason string) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.counts[reason]++
	})
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.Server = &http.Server{Handler: Handle(http.HandlerFunc(describeTLS)), Protocols: protocols, ReadHeaderTimeout: HeaderTimeout,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: maxStreams, CountError: s.bounds.Reporter.CountError},
		ConnContext: WithConnection, ConnState: TrackState, MaxHeaderBytes: DecoderFactor * DefaultHeaderBytes,
		DisableGeneralOptionsHandler: true, ErrorLog: s.bounds.Reporter.ErrorLog()}
	return s
}

// describeTLS responds with the properties of the request's TLS connection. The path /slow takes until the client leaves.
func describeTLS(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/slow" {
		<-r.Context().Done()
	}
	state := TLSStateOf(r)
	if state == nil {
		return
	}
	certificate := "no certificate"
	switch {
	case len(state.VerifiedChains) > 0:
		certificate = "verified"
	case len(state.PeerCertificates) > 0:
		certificate = "not verified"
	}
	_, _ = fmt.Fprintf(w, "%s %s, %s", tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite), certificate)
}

// serve serves connections until the end of the test.
func (s *served) serve(t *testing.T, listener net.Listener, cost int64) {
	t.Helper()
	go func() { _ = s.Serve(NewBoundedListener(listener, cost, s.bounds)) }()
	t.Cleanup(func() { _ = s.Close() })
}

// serveLocally serves real connections without TLS, and returns the server's address.
func (s *served) serveLocally(t *testing.T) string {
	t.Helper()
	listener := echotest.ListenLocally(t)
	s.serve(t, listener, Cost)
	return listener.Addr().String()
}

// rejected returns how many connections and requests were rejected for a reason.
func (s *served) rejected(reason string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.counts[reason]
}

// secured is a server for TLS.
type secured struct {
	*served
	address      string // host and port
	certificates *Certificates
	volume       *echotest.SecretVolume
	authority    *echotest.Authority // issues the server's certificates
}

// serveTLS serves real TLS connections with a certificate for the name "first". The zero values of the settings are replaced by defaults.
func serveTLS(t *testing.T, clientAuthority string, settings TLSSettings) *secured {
	t.Helper()
	inner := echotest.ListenLocally(t)
	s := secureWith(t, inner, clientAuthority, settings)
	s.address = inner.Addr().String()
	return s
}

func secureWith(t *testing.T, inner net.Listener, clientAuthority string, settings TLSSettings) *secured {
	t.Helper()
	s := &secured{served: newServed(), authority: echotest.NewAuthority(t, "authority")}
	s.volume = echotest.NewSecretVolume(t, echotest.SecretKeys(s.authority.Issue(t, "first"), clientAuthority))
	settings.Folder, settings.MinVersion = s.volume.Folder, max(settings.MinVersion, tls.VersionTLS12)
	settings.ClientCertificate = cmp.Or(settings.ClientCertificate, ClientCertificateNone)
	certificates, err := AwaitCertificates(t.Context(), settings, &TLSMetrics{}, echotest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	s.certificates = certificates
	s.serve(t, NewTLSListener(inner, certificates, s.bounds.Reporter), TLSConnectionCost)
	return s
}
