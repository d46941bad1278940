package pathcheck

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRun_schemeOfHandshake examines the scheme that proxies report for a WebSocket handshake.
func TestRun_schemeOfHandshake(t *testing.T) {
	address, _ := startEcho(t)
	ofHandshake := func(name string, values ...string) func(string) http.Handler {
		return changes(func(r *httputil.ProxyRequest) {
			if r.In.Header.Get("Upgrade") != "" {
				r.Out.Header[name] = values
			}
		})
	}
	for name, c := range map[string]struct {
		proxy func(string) http.Handler
		want  string
	}{
		"nothing":                {changes(nothing), "not reported"},
		"wss (Traefik)":          {ofHandshake("X-Forwarded-Proto", "wss"), "wss"},
		"ws":                     {ofHandshake("X-Forwarded-Proto", "WS"), "ws"},
		"a list":                 {ofHandshake("X-Forwarded-Proto", "wss, http"), "list"},
		"Forwarded":              {ofHandshake("Forwarded", "for=10.0.0.1;proto=wss, for=10.0.0.2;proto=http"), "wss"},
		"handshakes are refused": {refuseIf(403, func(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }), "refused 403"},
		"for the path of the WebSocket": {changes(func(r *httputil.ProxyRequest) {
			if r.In.URL.Path == "/-/ws" {
				r.Out.Header.Set("X-Forwarded-Proto", "wss")
			}
		}), "wss"},
		"without the query": {changes(func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = ""
			r.Out.Header.Set("X-Forwarded-Proto", "ws")
		}), "ws"},
		"handshakes are not recognized": {changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("Upgrade") }), "not reported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, c.proxy(address)), Groups: []string{"websocket"}})
			expectFacts(t, report, map[string]string{"websocket.proto": c.want, "websocket.http2": probe.No})
		})
	}
}

// TestRun_webSocketsOverHTTP2 examines paths that announce WebSockets over HTTP/2, and paths that do not.
func TestRun_webSocketsOverHTTP2(t *testing.T) {
	folder := t.TempDir()
	writeCertificate(t, folder)
	address, secure := startEcho(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+folder)
	announce := http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1}
	respond := func(status string, proves bool) func(*http2.Framer, string) error {
		return func(f *http2.Framer, nonce string) error {
			fields := []string{":status", status}
			if asked, as, ok := (proof.Echo{}).Respond(nonce); ok && proves {
				fields = append(fields, "echo-proof", as.Sign(asked, &proof.Claims{}))
			}
			return writeFields(f, fields...)
		}
	}
	for name, c := range map[string]struct {
		settings []http2.Setting
		respond  func(*http2.Framer, string) error
		want     string
	}{
		"not announced":      {nil, respond("200", true), probe.No},
		"announced as 0":     {[]http2.Setting{{ID: announce.ID}}, respond("200", true), probe.No},
		"announced":          {[]http2.Setting{announce}, respond("200", true), probe.Yes},
		"a page of a proxy":  {[]http2.Setting{announce}, respond("200", false), "refused 200"},
		"refused by a proxy": {[]http2.Setting{announce}, respond("503", false), "refused 503"},
		"refused by the Echo": {[]http2.Setting{announce}, respond("405", true),
			"refused 405"},
		"reset (Envoy)": {[]http2.Setting{announce},
			func(f *http2.Framer, _ string) error { return f.WriteRSTStream(1, http2.ErrCodeProtocol) }, "refused reset"},
		"the connection ends": {[]http2.Setting{announce}, func(f *http2.Framer, _ string) error {
			return f.WriteGoAway(1, http2.ErrCodeInternal, nil)
		}, "refused closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := echotest.Serve(t, func(connection net.Conn) {
				reader := bufio.NewReader(connection)
				if first, err := reader.Peek(3); err != nil || string(first) != "PRI" {
					pipe(bufferedConn{connection, reader}, address)
					return
				}
				serveHTTP2(connection, reader, c.settings, c.respond)
			})
			report := check(t, Options{URL: url, Groups: []string{"websocket"}})
			expectFacts(t, report, map[string]string{"websocket.http2": c.want, "websocket.upgrade": probe.Yes})
		})
	}
	for _, url := range []string{"http://" + address, "https://" + secure} {
		expectFacts(t, check(t, Options{URL: url, Groups: []string{"websocket"}}), map[string]string{"websocket.http2": probe.No})
	}
}

type bufferedConn struct {
	net.Conn
	reader io.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// serveHTTP2 sends settings, and responds to the request on the first stream.
func serveHTTP2(c net.Conn, r io.Reader, settings []http2.Setting, respond func(*http2.Framer, string) error) {
	if _, err := io.ReadFull(r, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(c, r)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = framer.WriteSettings(settings...) // if this fails, so does the next read
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		header, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		nonce := ""
		for _, each := range header.RegularFields() {
			if strings.EqualFold(each.Name, proof.RequestHeader) {
				nonce = each.Value
			}
		}
		isHandshake := header.PseudoValue("method") == http.MethodConnect && header.PseudoValue("protocol") == "websocket" &&
			header.PseudoValue("path") == "/-/ws" && !header.StreamEnded()
		if !isHandshake || respond(framer, nonce) != nil {
			return
		}
	}
}

func writeFields(f *http2.Framer, pairs ...string) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			return err
		}
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
}
