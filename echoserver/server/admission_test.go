package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestNewServer_closesAfterIncompleteHTTP2Header sends an incomplete header over HTTP/2, and does not respond to the ping of net/http.
func TestNewServer_closesAfterIncompleteHTTP2Header(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		connection := listener.Dial(t)
		began := time.Now()
		var sender sync.WaitGroup
		sender.Go(func() {
			framer, err := echotest.Greet(connection)
			if err != nil {
				return
			}
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			for range 100 { // sends frames slowly, but without long pauses
				<-time.After(time.Second)
				if framer.WriteContinuation(1, false, nil) != nil {
					return
				}
			}
		})
		_, _ = io.Copy(io.Discard, connection)
		took := time.Since(began)
		sender.Wait()
		if took < pingTimeout || took > 2*pingTimeout {
			t.Errorf("the connection is closed after %s, want little more than %s", took, pingTimeout)
		}
	})
}

// TestNewServer_resetsUnreadHTTP2Response requests a response that the client does not read, and measures when the stream is reset.
func TestNewServer_resetsUnreadHTTP2Response(t *testing.T) {
	const withBody = "/?body"
	for path, limit := range map[string]time.Duration{"/": exchange.ResponseTimeout, withBody: exchange.ResponseTimeout, "/?echo.size=1000000": slowTimeout,
		"/-/sse": exchange.StallTimeout, "/?echo.delay=20s": 20*time.Second + exchange.ResponseTimeout} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			connection := listener.Dial(t)
			framer, err := echotest.Greet(connection, noWindow())
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: echotest.HeaderBlock("GET", path), EndHeaders: true,
				EndStream: path != withBody}); err != nil {
				t.Fatal(err)
			}
			if path == withBody {
				_ = framer.WriteData(1, true, []byte("x"))
			}
			for {
				frame, err := framer.ReadFrame()
				if err != nil {
					t.Fatal(err)
				}
				if ping, ok := frame.(*http2.PingFrame); ok && !ping.IsAck() {
					_ = framer.WritePing(true, ping.Data) // the client responds to pings, but does not open the flow-control window
				}
				if _, ok := frame.(*http2.RSTStreamFrame); ok {
					break
				}
			}
			if took := time.Since(began); took < limit || took > limit+time.Second {
				t.Errorf("%s: the stream is reset after %s, want %s", path, took, limit)
			}
			synctest.Wait()
			if h.metrics.inFlight.Load() != 0 || held(t, h) != 0 {
				t.Errorf("%s: %d are in flight, and hold %d bytes", path, h.metrics.inFlight.Load(), held(t, h))
			}
		})
	}
}

// TestEcho_extendsDeadlineAfterSlowUpload sends a body so slowly that the upload takes longer than the time limit for a response. If the
// server did not extend the deadline, net/http would reset the stream.
func TestEcho_extendsDeadlineAfterSlowUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		body, more := io.Pipe()
		go func() {
			for range 10 {
				_, _ = io.WriteString(more, echotest.Payload(100_000))
				<-time.After(10 * time.Second)
			}
			_ = more.Close() // never fails
		}()
		got := echotest.Open(t, listener.HTTP2Client(t), http.MethodPost, "http://a/", body).Whole(t)
		if got.StatusCode != http.StatusOK || decode(t, got.Text).Request.Body.Size != 1_000_000 {
			t.Errorf("the response is %d %.300s", got.StatusCode, got.Text)
		}
	})
}

// TestNewServer_keepsIdleHTTP2Connection checks that the header deadline does not close an idle connection.
func TestNewServer_keepsIdleHTTP2Connection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		client := listener.HTTP2Client(t)
		for range 3 {
			echotest.Send(t, client, http.MethodGet, "http://a/", "")
			<-time.After(5 * time.Minute)
		}
		if dialled := listener.Dialed.Load(); dialled != 1 {
			t.Errorf("there were %d connections", dialled)
		}
	})
}

// TestAdmit_closesConnectionAfterAmbiguousRequest sends ambiguous requests. For some of them, the server does not see the raw header.
func TestAdmit_closesConnectionAfterAmbiguousRequest(t *testing.T) {
	server := serve(t, handlerOf(t))
	ambiguous := "POST /last HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n"
	smuggled := "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, sent := range map[string]string{
		"alone":                     ambiguous,
		"after another":             "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + ambiguous,
		"after another and a line":  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n\r\n" + ambiguous,
		"after another with a body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" + ambiguous,
	} {
		got := echotest.Exchanged(t, echotest.Dial(t, server.URL), sent+smuggled)
		if !strings.Contains(got, `"path": "/last"`) || strings.Contains(got, `"path": "/smuggled"`) {
			t.Errorf("%s: the response is %q", name, got)
		}
	}
}

// TestNewAdminServer_rejectsLongHeadersAndHTTP2 checks that clients of the admin port cannot make the server use much memory.
func TestNewAdminServer_rejectsLongHeadersAndHTTP2(t *testing.T) {
	h := handlerOf(t)
	server := httptest.NewUnstartedServer(nil)
	server.Config = newAdminServer(newAdmin(h.life, h.metrics), boundsFor(t, h).Reporter)
	server.Start()
	t.Cleanup(server.Close)
	long := "GET /livez HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", maxAdminHeaders+3*4096) + "\r\n\r\n"
	for sent, want := range map[string]string{long: "HTTP/1.1 431 ", http2.ClientPreface: "HTTP/1.1 404 "} {
		if got := echotest.Exchanged(t, echotest.Dial(t, server.URL), sent); !strings.HasPrefix(got, want) {
			t.Errorf("the response to %.20q is %q, want %s", sent, got, want)
		}
	}
}

// headerCase is a request with a large header.
type headerCase struct {
	path   string
	cookie int // the length, in bytes, of the cookie
	fields int // the number of other fields
	status int
}

func headerCases(limit int) map[string]headerCase {
	return map[string]headerCase{
		"a cookie of 17,500 bytes":          {"/", 17_500, 0, http.StatusOK},
		"a cookie near the limit":           {"/", limit - 200, 0, http.StatusOK},
		"a cookie of 1.2 times the limit":   {"/", limit * 12 / 10, 0, http.StatusRequestHeaderFieldsTooLarge},
		"a cookie of 3.6 times the limit":   {"/", limit * 36 / 10, 0, http.StatusRequestHeaderFieldsTooLarge},
		"a path of 9,000 bytes":             {"/" + echotest.Payload(8_999), 0, 0, http.StatusRequestURITooLong},
		"a path of 40,000 bytes":            {"/" + echotest.Payload(39_999), 0, 0, http.StatusRequestURITooLong},
		"a path and a cookie, together":     {"/" + echotest.Payload(8_000), limit - 8_000, 0, http.StatusRequestHeaderFieldsTooLarge},
		"a path and a cookie, both allowed": {"/" + echotest.Payload(8_000), limit - 8_500, 0, http.StatusOK},
		"as many fields as allowed":         {"/", 1, transport.MaxFields - 3, http.StatusOK},
		"more fields than allowed":          {"/", 1, transport.MaxFields, http.StatusRequestHeaderFieldsTooLarge},
	}
}

// TestCheckHeader sends the same requests over HTTP/1.1 and HTTP/2, which have the same limits.
func TestCheckHeader(t *testing.T) {
	for setting, limit := range map[string]int{"": transport.DefaultHeaderBytes, "ECHO_MAX_HEADER_BYTES=65536": transport.MostHeaderBytes} {
		url := "http://" + startRun(t, strings.Fields(setting)...).Address
		for name, c := range headerCases(limit) {
			got := echotest.Exchanged(t, echotest.Dial(t, url),
				"GET "+c.path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: "+strings.Repeat("c", c.cookie)+"\r\n"+strings.Repeat("A: 1\r\n", c.fields)+"\r\n")
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("%s over HTTP/1.1, %s: the response is %.100q, want %d", name, setting, got, c.status)
			}
			sharedConnection(t, url, name, c)
		}
	}
}

// sharedConnection sends a request on an HTTP/2 connection while another request waits. Both requests must get their responses.
func sharedConnection(t *testing.T, url, name string, c headerCase) {
	t.Helper()
	connection := echotest.Dial(t, url)
	defer func() { _ = connection.Close() }()
	framer, err := echotest.Greet(connection)
	if err != nil {
		t.Fatal(err)
	}
	writeRequest(t, framer, 1, echotest.HeaderBlock("GET", "/slow?echo.delay=200ms"))
	fields := append([]string{"cookie", strings.Repeat("c", c.cookie)}, slices.Repeat([]string{"a", "1"}, c.fields)...)
	writeRequest(t, framer, 3, echotest.HeaderBlock("GET", c.path, fields...))
	got := replies(t, framer, 2)
	if got[1].status != "200" || got[3].status != fmt.Sprint(c.status) {
		t.Errorf("%s over HTTP/2: the response is %s, want %d; the other one is %s", name, got[3].status, c.status, got[1].status)
	}
}

func writeRequest(t *testing.T, framer *http2.Framer, stream uint32, block []byte) {
	t.Helper()
	if err := echotest.WriteHeader(framer, stream, block, true, true); err != nil {
		t.Fatal(err)
	}
}

// http2Reply is a response that was received over HTTP/2.
type http2Reply struct{ status, body string }

// replies waits until the given number of streams has ended, and returns their responses. Meanwhile, the connection must stay open.
func replies(t *testing.T, framer *http2.Framer, streams int) map[uint32]http2Reply {
	t.Helper()
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	got := map[uint32]http2Reply{}
	for ended := 0; ended < streams; {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		reply := got[frame.Header().StreamID]
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			t.Fatalf("the server ends the connection: %v", f)
		case *http2.MetaHeadersFrame:
			reply.status = f.PseudoValue("status")
		case *http2.DataFrame:
			reply.body += string(f.Data())
		}
		got[frame.Header().StreamID] = reply
		kind := frame.Header().Type
		if (kind == http2.FrameData || kind == http2.FrameHeaders) && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			ended++
		}
	}
	return got
}

// TestCheckHeader_reportsRejections checks the metric and the log line for rejected headers in both HTTP versions.
func TestCheckHeader_reportsRejections(t *testing.T) {
	h, log := loggedHandler(t)
	server := serve(t, h)
	long := strings.Repeat("c", transport.DefaultHeaderBytes)
	_ = echotest.Exchanged(t, echotest.Dial(t, server.URL), "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nCookie: "+long+"\r\n\r\n")
	sharedConnection(t, server.URL, "a cookie", headerCase{"/", len(long), 0, http.StatusRequestHeaderFieldsTooLarge})
	want := fmt.Sprintf(`"status":431,"reason":"the header is larger than %d bytes","limit":%[1]d,"longestField":"Cookie"}`,
		transport.DefaultHeaderBytes)
	if got := log.String(); strings.Count(got, want) != 2 || strings.Count(got, `"remote":"127.0.0.1:`) < 2 {
		t.Errorf("the log is %s, want twice %s", got, want)
	}
	if got := counted(h.metrics.rejected, transport.LimitHeader); got != 2 {
		t.Errorf("%d are counted", got)
	}
}

// TestAdmitTrailer sends a trailer that the response must include, and one that is too large.
func TestAdmitTrailer(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for length, want := range map[int]int{10_000: http.StatusOK, transport.DefaultHeaderBytes: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, echotest.Unsized{Reader: strings.NewReader("body")})
		if err != nil {
			t.Fatal(err)
		}
		r.Trailer = http.Header{"X-A": {echotest.Payload(length)}}
		response, err := echotest.Clients(t)["HTTP/2.0"].Do(r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want ||
			want == http.StatusOK && len(decode(t, string(data)).Request.Trailers["X-A"][0]) != length {
			t.Errorf("a trailer of %d bytes: the response is %d, %.100q, %v", length, response.StatusCode, data, err)
		}
	}
	if got := held(t, h); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
}

// TestUnreadable_closesConnection sends trailers of the maximum size over HTTP/1.1, which includes the empty line, and of one byte more. If
// a body is not valid, what follows must not become another request.
func TestUnreadable_closesConnection(t *testing.T) {
	url := serve(t, handlerOf(t)).URL
	const most = 4096
	trailer := func(size int) string {
		return "0\r\nX-A: " + strings.Repeat("b", size-len("X-A: \r\n\r\n")) + "\r\n\r\n"
	}
	for rest, want := range map[string]string{trailer(most): "200 200", trailer(most + 1): "400", "x\r\n\r\n": "400"} {
		for _, path := range []string{"/", "/-/body?digest", "/echo.v1.Echo/Unary"} {
			connection, fields := echotest.Dial(t, url), "Host: a\r\nTransfer-Encoding: chunked\r\n"
			if strings.HasSuffix(path, "Unary") {
				fields += "Connect-Protocol-Version: 1\r\nContent-Type: application/json\r\n"
				want = strings.Replace(want, "400", "499", 1) // for Connect, the client ended the call
			}
			_, _ = io.WriteString(connection, "POST "+path+" HTTP/1.1\r\n"+fields+"\r\n2\r\n{}\r\n"+rest+
				"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			got, _ := io.ReadAll(connection) // it may be reset because of the unread data
			var codes []string
			for _, response := range strings.Split(string(got), "HTTP/1.1 ")[1:] {
				codes = append(codes, response[:3])
			}
			if strings.Join(codes, " ") != want {
				t.Errorf("%s after %d bytes: the responses are %q", path, len(rest), codes)
			}
		}
	}
}

// TestNewServer_reportsRejections sends one request of each kind that net/http rejects, and reports in its own way.
func TestNewServer_reportsRejections(t *testing.T) {
	for reason, send := range map[string]func(net.Conn) error{
		"status_400": func(conn net.Conn) error {
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
			return err
		},
		transport.ReasonHTTP2Stream:     sends(1, echotest.FieldBlock(":method", "GET", ":scheme", "http", ":authority", "a")),
		transport.ReasonHTTP2Connection: sends(2, echotest.HeaderBlock("GET", "/")),
	} {
		h, log := loggedHandler(t)
		conn := echotest.Dial(t, serve(t, h).URL)
		if err := send(conn); err != nil {
			t.Fatal(err)
		}
		echotest.Until(t, "it is counted and logged", func() bool {
			return counted(h.metrics.rejected, reason) == 1 && strings.Contains(log.String(), `"reason":"`+reason+`"`)
		})
	}
}

// sends returns a function that begins an HTTP/2 connection with a header.
func sends(stream uint32, block []byte) func(net.Conn) error {
	return func(conn net.Conn) error {
		framer, err := echotest.Greet(conn)
		return errors.Join(err, echotest.WriteHeader(framer, stream, block, true, true))
	}
}
