package pathcheck

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1" //nolint:gosec // of WebSocket handshakes
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func limitCases() []truthCase {
	size := func(r *http.Request) (bytes int) {
		for name, values := range r.Header {
			for _, each := range values {
				bytes += len(name) + len(each) + 4
			}
		}
		return bytes
	}
	header := func(limit string, bytes, status int, truth string) truthCase {
		return truthCase{name: "headers of up to " + limit, around: refuse(status, func(r *http.Request) bool { return size(r) > bytes }),
			truth: truths{"request.headers.size": truth, "request.headers.size.by": "proxy", "request.headers.number.by": "Echo|proxy"},
			shown: "request.headers.size request.headers.size.by"}
	}
	url := func(limit string, bytes, status int, truth string) truthCase {
		return truthCase{name: "URLs of up to " + limit, around: refuse(status, func(r *http.Request) bool { return len(r.RequestURI) > bytes }),
			truth: truths{"request.url.size": truth, "request.url.size.by": "proxy"}}
	}
	larger := header("50 KiB", 50<<10, 431, "48Ki..50Ki") // and an Echo with a higher limit
	larger.echo = []string{"ECHO_MAX_HEADER_BYTES=65536"}
	body := func(name, truth string, limit int64, how http.HandlerFunc) truthCase {
		return truthCase{name: name, around: instead(how, func(r *http.Request) bool { return r.ContentLength > limit }),
			truth: truths{"body.max": truth, "body.max.by": "proxy"}, vague: limit == 8<<20} // to repeat it would exceed the bytes of a run
	}
	late := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		pageOf(http.StatusRequestEntityTooLarge)(w, r)
	}
	page431 := func(r *http.Response) error {
		if r.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
			setBody(r, nil)
		}
		return nil
	}
	resetAt := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 8<<20)
		reset(w, r)
	}
	return []truthCase{
		header("4 KiB", 4<<10, 431, "1Ki..4Ki"), header("8 KiB", 8<<10, 400, "4Ki..8Ki"), header("16 KiB", 16<<10, 502, "8Ki..16Ki"),
		header("26 KiB", 26<<10, 431, "16Ki..26Ki"), // with the status of the Echo, but below its limit
		larger,
		{name: "headers of the proxy use up the Echo's limit", request: set("X-Amzn-Oidc-Data", strings.Repeat("x", 9<<10)),
			truth: truths{"request.headers.size": "12Ki..22Ki", "request.headers.added": "X-Amzn-Oidc-Data", "client.removable": "not found"},
			shown: "request.headers.size request.headers.size.by"},
		{name: "headers of the proxy use up the Echo's limit, and a page for 431", request: set("X-Amzn-Oidc-Data", strings.Repeat("x", 9<<10)),
			response: page431, truth: truths{"request.headers.size": "12Ki..22Ki", "request.headers.size.by": "unknown",
				"request.headers.number.by": "*", "request.headers.added": "X-Amzn-Oidc-Data", "client.removable": "not found"}, vague: true},
		{name: "a page for 431", response: page431, truth: truths{"request.headers.size.by": "unknown", "request.headers.number.by": "*"}, vague: true}, // so that any value is false
		{name: "headers are cut at 3000 bytes", request: eachField(func(name string, values []string) (string, []string) {
			return name, append([]string{values[0][:min(len(values[0]), 3000)]}, values[1:]...)
		}), truth: truths{"request.headers.size": "1Ki..3000", "request.headers.size.by": "proxy"}},
		{name: "up to 50 headers", around: refuse(431, func(r *http.Request) bool { return len(r.Header) > 50 }),
			truth: truths{"request.headers.number": "20..50", "request.headers.number.by": "proxy"}},
		url("4 KiB", 4<<10, 400, "2Ki..4Ki"),
		body("bodies of up to 64 KiB", "33Ki..64Ki", 64<<10, pageOf(413)),
		body("bodies of up to 1 MiB are refused early", "513Ki..1Mi", 1<<20, pageOf(413)),
		body("bodies of up to 1 MiB are refused late", "513Ki..1Mi", 1<<20, late),
		body("bodies of up to 8 MiB are reset", "4097Ki..8Mi", 8<<20, resetAt),
	}
}

// bufferUpTo sends bodies of up to some bytes with a Content-Length, after they were received, and streams longer ones.
func bufferUpTo(bytes int64) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		if r.In.ContentLength == 0 {
			return
		}
		data, _ := io.ReadAll(io.LimitReader(r.In.Body, bytes+1)) // if this fails, so does the rest
		if int64(len(data)) > bytes {
			r.Out.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(data)), r.In.Body))
			return
		}
		r.Out.Body, r.Out.ContentLength = io.NopCloser(strings.NewReader(string(data))), int64(len(data))
		r.Out.TransferEncoding, r.Out.Trailer = nil, nil
	}
}

func bodyTruths() []truthCase {
	ranges := wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Range") == "" || r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		whole, all := httptest.NewRecorder(), r.Clone(r.Context())
		all.Header.Del("Range")
		next.ServeHTTP(whole, all)
		maps.Copy(w.Header(), whole.Header())
		w.Header().Del("Content-Length")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(whole.Body.Bytes()))
	})
	return []truthCase{
		{name: "chunks are refused", around: refuse(411, func(r *http.Request) bool { return len(r.TransferEncoding) > 0 }),
			truth: truths{"body.chunked": "refused 411", "body.request": "streamed|refused 411", "request.trailers": "refused 411"}},
		{name: "bodies are buffered", request: bufferUpTo(1 << 30), truth: truths{"body.chunked": "length set", "body.request": "buffered",
			"request.trailers": "dropped", "body.expect": "sent by proxy"}},
		{name: "bodies of up to 16 KiB are buffered", request: bufferUpTo(16 << 10), truth: truths{"body.chunked": "length set if short, else kept",
			"body.request": "buffered if short, else streamed", "request.trailers": "dropped|kept", "body.expect": "sent by proxy"}},
		{name: "Expect is dropped", request: drop("Expect"), truth: truths{"body.expect": "sent by proxy"}},
		{name: "Expect passes but the proxy responds", truth: truths{"body.expect": "sent by proxy|kept"},
			transport: func(_ *bench, t *http.Transport) http.RoundTripper { t.ExpectContinueTimeout = 0; return t }},
		{name: "Expect is refused", around: refuse(417, func(r *http.Request) bool { return r.Header.Get("Expect") != "" }),
			truth: truths{"body.expect": "refused 417"}},
		{name: "Range is dropped", request: drop("Range"), truth: truths{"body.range": "dropped"}},
		{name: "ranges are served by the proxy", around: ranges, truth: truths{"body.range": "served by proxy"}},
		{name: "trailers are dropped", request: func(r *httputil.ProxyRequest) { r.Out.Trailer = nil },
			truth: truths{"request.trailers": "dropped"}},
	}
}

// hold holds back a response until it is complete.
func hold(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if isUpgrade(r) {
		next.ServeHTTP(w, r)
		return
	}
	whole := httptest.NewRecorder()
	next.ServeHTTP(finalOnly{whole}, r)
	respondAs(w, whole)
}

// caching stores responses by URI.
func caching(stores func(*http.Request) bool) func(*bench, http.Handler) http.Handler {
	return func(_ *bench, next http.Handler) http.Handler {
		var mutex sync.Mutex
		stored := map[string]*httptest.ResponseRecorder{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !stores(r) || r.Method != http.MethodGet || strings.Contains(r.URL.Path, "/-/") || isUpgrade(r) {
				next.ServeHTTP(w, r)
				return
			}
			mutex.Lock()
			first := stored[r.RequestURI]
			mutex.Unlock()
			if first == nil {
				first = httptest.NewRecorder()
				next.ServeHTTP(finalOnly{first}, r)
				mutex.Lock()
				stored[r.RequestURI] = first
				mutex.Unlock()
			}
			respondAs(w, first)
		})
	}
}

func setResponse(name, value string) func(*http.Response) error {
	return func(r *http.Response) error { r.Header.Set(name, value); return nil }
}

func responseCases() []truthCase {
	status := func(from, to int) func(*http.Response) error {
		return func(r *http.Response) error {
			if r.StatusCode == from {
				r.StatusCode = to
			}
			return nil
		}
	}
	errorBodies := func(r *http.Response) error {
		if r.StatusCode >= 400 && r.Request.Method != http.MethodHead {
			setBody(r, []byte("sorry\n"))
		}
		return nil
	}
	return []truthCase{
		{name: "responses are buffered", around: wrap(hold), truth: truths{"response.stream": "buffered", "response.earlyHints": "dropped"}},
		{name: "event streams are cut after 1.5 s", truth: truths{"response.stream": "streamed"},
			around: wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				ctx, cancel := context.WithTimeout(r.Context(), 1500*time.Millisecond)
				defer cancel()
				if strings.HasSuffix(r.URL.Path, "/sse") {
					r = r.WithContext(ctx)
				}
				next.ServeHTTP(w, r)
			})},
		{name: "long descriptions are changed", vague: true,
			response: editBody(func(s string) string { return s + strings.Repeat(" ", len(s)/20_000) })},
		{name: "404 is not requested", vague: true, request: rewriteQuery(replace("echo.status=404", "a")), truth: truths{"response.status": "unknown"}},
		{name: "delays are not requested", vague: true, request: rewriteQuery(replace("echo.delay=30s", "a")), truth: truths{"timeouts.response": "unknown"}},
		{name: "early hints are dropped", truth: truths{"response.earlyHints": "dropped"},
			around: wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(finalOnly{w}, r) })},
		{name: "Server is added", response: setResponse("Server", "a"), truth: truths{"response.headers.added": "Server"}},
		{name: "a second policy is added", truth: truths{"response.headers.changed": "Content-Security-Policy"},
			response: func(r *http.Response) error {
				r.Header.Add("Content-Security-Policy", "default-src 'self'")
				return nil
			}},
		{name: "Vary is removed", response: func(r *http.Response) error { r.Header.Del("Vary"); return nil },
			truth: truths{"response.headers.removed": "Vary"}},
		{name: "Retry-After is removed", response: func(r *http.Response) error { r.Header.Del("Retry-After"); return nil },
			truth: truths{"response.headers.removed": "Retry-After"}},
		{name: "Content-Type is changed", response: func(r *http.Response) error {
			if r.Header.Get("Content-Type") == "application/json" {
				r.Header.Set("Content-Type", "application/json; charset=utf-8")
			}
			return nil
		}, truth: truths{"response.headers.changed": "Content-Type"}},
		{name: "GET is cached", around: caching(func(r *http.Request) bool { return r.URL.RawQuery == "" }), also: "refused cached",
			truth: truths{"response.cached": "yes"}},
		{name: "GET is cached by two proxies in turn", also: "refused cached|refused 431", around: func(b *bench, next http.Handler) http.Handler {
			isPlain := func(r *http.Request) bool { return r.URL.RawQuery == "" }
			both := []http.Handler{caching(isPlain)(b, next), caching(isPlain)(b, next)}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { both[b.next(ofProxy)%2].ServeHTTP(w, r) })
		}, truth: truths{"response.cached": "yes"}},
		{name: "all responses are cached", around: caching(func(*http.Request) bool { return true }), also: "refused cached", transport: reusing,
			truth: truths{"response.cached": "yes", "response.earlyHints": "dropped", "loadBalancing.upstream": "reused",
				"retries.reset": "0..300"}},
		{name: "a page for 404", response: ownPage(404), truth: truths{"response.status": "replaced {404}"}},
		{name: "a page for 429", response: ownPage(429), truth: truths{"response.status": "replaced {429}"}, shown: "rate.limit response.status"},
		{name: "a page for 500 and 503", response: ownPage(500, 503), truth: truths{"response.status": "replaced {500,503}"}},
		{name: "pages for 401 403 502 504", response: ownPage(401, 403, 502, 504),
			truth: truths{"response.status": "replaced {401,403,502,504}"}},
		{name: "bodies of errors are replaced", response: errorBodies, truth: truths{"response.status": "replaced *"}},
		{name: "400 becomes 502, also of a refused control", echo: []string{"ECHO_CONTROLS=Safe"}, vague: true, response: status(400, 502),
			truth: truths{"response.status": "replaced {400}", "response.earlyHints": "unknown"}}, // so that any value is false
		{name: "404 becomes 200", response: status(404, 200), truth: truths{"response.status": "replaced {404}"}},
		{name: "422 becomes 400", response: status(422, 400), truth: truths{"response.status": "replaced {422}"}},
		{name: "http becomes https in bodies", response: editBody(replace("http", "https"))},
	}
}

// compressOnly compresses responses of a type for clients that accept it. It does not flush, so it also holds back streams.
func compressOnly(mediaType string) func(*http.Response) error {
	return func(r *http.Response) error {
		if !strings.Contains(r.Request.Header.Get("Accept-Encoding"), "gzip") || !strings.HasPrefix(r.Header.Get("Content-Type"), mediaType) ||
			r.StatusCode != http.StatusOK {
			return nil
		}
		plain := r.Body
		reader, writer := io.Pipe()
		go func() {
			compressor := gzip.NewWriter(writer)
			_, err := io.Copy(compressor, plain)
			_ = writer.CloseWithError(errors.Join(err, compressor.Close(), plain.Close()))
		}()
		r.Header.Del("Content-Length")
		r.Header.Set("Content-Encoding", "gzip")
		r.Body, r.ContentLength = reader, -1
		return nil
	}
}

func compressionCases() []truthCase {
	some := "*gzip*"
	return []truthCase{
		{name: "everything is compressed", response: compressOnly(""),
			truth: truths{"response.compression": some, "response.stream": "streamed|buffered*|*gzip*"}},
		{name: "HTML is compressed", response: compressOnly("text/html"), truth: truths{"response.compression": some}},
		{name: "JSON is compressed", response: compressOnly("application/json"), truth: truths{"response.compression": some}},
		{name: "event streams are compressed", response: compressOnly("text/event-stream"),
			truth: truths{"response.compression": some, "response.stream": "buffered*|*gzip*|depends*"}},
	}
}

func isUpgrade(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

func webSocketCases() []truthCase {
	var all []truthCase
	for _, status := range []int{400, 403, 404} {
		refused := fmt.Sprintf("refused %d", status)
		all = append(all, truthCase{name: fmt.Sprintf("WebSockets are refused with %d", status), around: refuse(status, isUpgrade),
			truth: truths{"websocket.upgrade": refused, "websocket.proto": "not reported|" + refused}})
	}
	for value, want := range map[string]string{"ws": "ws", "WSS": "wss", "wss, http": "list", "other": "another"} {
		all = append(all, truthCase{name: "handshakes have the scheme " + value, request: func(r *httputil.ProxyRequest) {
			if isUpgrade(r.In) {
				r.Out.Header.Set("X-Forwarded-Proto", value)
			}
		}, truth: truths{"websocket.proto": want, "client.spoofable[X-Forwarded-Proto]": "*"}})
	}
	return append(all,
		truthCase{name: "handshakes are accepted wrongly", truth: truths{"websocket.messages": "lost at 100B"},
			response: func(r *http.Response) error {
				if r.StatusCode == http.StatusSwitchingProtocols {
					r.Header.Set("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
				}
				return nil
			}},
		truthCase{name: "Upgrade is dropped", request: drop("Upgrade", "Connection"), truth: truths{"websocket.upgrade": "no"}},
		truthCase{name: "subprotocols are dropped", request: drop("Sec-Websocket-Protocol"), truth: truths{"websocket.subprotocol": "dropped"}},
		truthCase{name: "the proxy responds to handshakes",
			around: func(b *bench, next http.Handler) http.Handler { return tunnel(b, next, true, 1<<30) }},
		truthCase{name: "messages are cut at 64 KiB", truth: truths{"websocket.messages": "lost at *"},
			around: func(b *bench, next http.Handler) http.Handler { return tunnel(b, next, false, 64<<10) }})
}

// tunnel forwards WebSockets itself: it can write its own response to the handshake, and ends the connection after some bytes.
func tunnel(b *bench, next http.Handler, own bool, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isUpgrade(r) || !strings.HasPrefix(r.URL.Path, "/-/ws") {
			next.ServeHTTP(w, r)
			return
		}
		up, err := b.dial(proxyIP, line{})(r.Context(), "tcp", b.pods[0])
		if err != nil {
			return
		}
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_ = r.Write(up)
		from := bufio.NewReader(up)
		if own {
			if response, err := http.ReadResponse(from, r); err != nil || response.StatusCode != http.StatusSwitchingProtocols {
				return
			}
			sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // RFC 6455
			_, _ = fmt.Fprintf(client, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]),
				r.Header.Get("Sec-Websocket-Protocol"))
		}
		go func() {
			_, _ = io.Copy(client, from)
			_ = client.Close()
		}()
		_, _ = io.Copy(up, io.LimitReader(buffered, limit))
		_ = up.Close()
	})
}

// roundTripper makes a function an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reusing(_ *bench, t *http.Transport) http.RoundTripper {
	t.DisableKeepAlives = false
	return t
}

func overH2C(_ *bench, t *http.Transport) http.RoundTripper {
	t.DisableKeepAlives, t.Protocols = false, &http.Protocols{}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// overHTTP10 sends requests as nginx does by default: with HTTP/1.0, and with the length of the body.
func overHTTP10(b *bench, _ *http.Transport) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body) // if this fails, so does the rest
		}
		up, err := b.dial(proxyIP, line{})(r.Context(), "tcp", r.URL.Host)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(r.Context(), func() { _ = up.Close() })
		var header bytes.Buffer
		fmt.Fprintf(&header, "%s %s HTTP/1.0\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), r.Host)
		fields := r.Header.Clone()
		for _, each := range []string{"Connection", "Upgrade", "Expect", "Te", "Trailer"} {
			fields.Del(each)
		}
		if len(body) > 0 {
			fields.Set("Content-Length", strconv.Itoa(len(body)))
		}
		_ = fields.Write(&header)
		if _, err := fmt.Fprintf(up, "%s\r\n%s", header.String(), body); err != nil {
			return nil, err
		}
		return http.ReadResponse(bufio.NewReader(up), r)
	})
}

// again repeats requests.
func again(times int, when func(*http.Request, *http.Response, error) bool) func(*bench, *http.Transport) http.RoundTripper {
	return func(b *bench, t *http.Transport) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := t.RoundTrip(r)
			for i := 0; i < times && r.ContentLength == 0 && !isUpgrade(r) && when(r, response, err); i++ {
				if response != nil {
					_ = response.Body.Close()
				}
				other := r.Clone(r.Context())
				other.URL.Host = b.pods[(slices.Index(b.pods, r.URL.Host)+1+i)%len(b.pods)]
				response, err = t.RoundTrip(other)
			}
			return response, err
		})
	}
}

func waits(limit time.Duration, next func(*bench, *http.Transport) http.RoundTripper) func(*bench, *http.Transport) http.RoundTripper {
	return func(b *bench, t *http.Transport) http.RoundTripper {
		t.ResponseHeaderTimeout = limit
		return next(b, t)
	}
}

func retryCases() []truthCase {
	failed := func(_ *http.Request, a *http.Response, err error) bool {
		return err == nil && a.StatusCode == http.StatusServiceUnavailable
	}
	failedGet := func(r *http.Request, a *http.Response, err error) bool {
		return r.Method == http.MethodGet && failed(r, a, err)
	}
	wasReset := func(_ *http.Request, _ *http.Response, err error) bool {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
	}
	timedOut := func(r *http.Request, _ *http.Response, err error) bool {
		return r.Method == http.MethodGet && err != nil && statusOf(err) == http.StatusGatewayTimeout
	}
	never := func(*http.Request, *http.Response, error) bool { return false }
	retriedOnOneOfTwo := truths{"retries.get": "1", "loadBalancing.pods": "2", "loadBalancing.affinity": "none"}
	mirror := func(_ *bench, t *http.Transport) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.ContentLength == 0 && !isUpgrade(r) && !strings.HasPrefix(r.URL.Path, "/-/") {
				go func() {
					if response, err := t.RoundTrip(r.Clone(context.WithoutCancel(r.Context()))); err == nil {
						_ = response.Body.Close()
					}
				}()
				<-time.After(time.Millisecond) // so that the copy arrives first
			}
			return t.RoundTrip(r)
		})
	}
	return []truthCase{
		{name: "GET is retried twice on 503", transport: again(2, failedGet), truth: truths{"retries.get": "2"}},
		{name: "GET is retried 5 times without an ID", request: drop("X-Request-Id"), transport: again(5, failedGet),
			truth: truths{"retries.get": "5", "client.requestID": "dropped"}},
		{name: "everything is retried once on 503", transport: again(1, failed), truth: truths{"retries.get": "1", "retries.post": "1"}},
		{name: "GET is retried on other pods", pods: 3, pick: inTurn, transport: again(1, failedGet),
			truth: truths{"retries.get": "1", "loadBalancing.pods": "3", "loadBalancing.affinity": "none"}},
		{name: "GET is retried on a pod that hides its identity", pods: 2, pick: inTurn, transport: again(1, failedGet),
			echo: []string{"ECHO_IDENTITY=false"}, truth: retriedOnOneOfTwo, shown: "retries.get"},
		{name: "GET is retried on a pod with a fixed body", pods: 2, pick: inTurn, transport: again(1, failedGet),
			echo: []string{"ECHO_RESPONSE_BODY=hello"}, truth: retriedOnOneOfTwo, shown: "retries.get"},
		{name: "everything is retried once on resets", transport: again(1, wasReset), truth: truths{"retries.reset": "1"}},
		{name: "requests are mirrored", transport: mirror},
		{name: "the proxy waits 12 s", transport: waits(12*time.Second, again(0, never)), truth: truths{"timeouts.response": "11s..13s"}},
		{name: "the proxy waits 25 s for each of 3 pods", pods: 3, pick: inTurn, transport: waits(25*time.Second, again(2, timedOut)),
			truth: truths{"timeouts.response": "24s..26s", "loadBalancing.pods": "3", "loadBalancing.affinity": "none"}, vague: true},
		{name: "the proxy waits 12 s for each of 3 pods", pods: 3, pick: inTurn, transport: waits(12*time.Second, again(2, timedOut)),
			truth: truths{"timeouts.response": "11s..13s", "loadBalancing.pods": "3", "loadBalancing.affinity": "none"}},
		{name: "the proxy waits 4 s for each attempt, and 10 s for all", pods: 3, pick: inTurn, transport: waits(4*time.Second, again(2, timedOut)),
			truth: truths{"timeouts.response": "unknown", "loadBalancing.pods": "3", "loadBalancing.affinity": "none"}, vague: true,
			around: wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodGet { // bodies take time
					ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
					defer cancel()
					r = r.WithContext(ctx)
				}
				next.ServeHTTP(w, r)
			})},
	}
}

func inTurn(b *bench, _ *http.Request) int       { return b.next(ofProxy) % len(b.pods) }
func atRandom(b *bench, _ *http.Request) int     { return b.intn(len(b.pods)) }
func byConnection(b *bench, r *http.Request) int { return numberOf(r) % len(b.pods) }

func balancingCases() []truthCase {
	spread := func(pods, affinity string) truths {
		return truths{"loadBalancing.pods": pods, "loadBalancing.affinity": affinity}
	}
	chosen := func(b *bench, r *http.Request) int { // by a cookie
		if c, err := r.Cookie("route"); err == nil {
			number, _ := strconv.Atoi(c.Value)
			return number % len(b.pods)
		}
		return atRandom(b, r)
	}
	sticky := func(r *http.Response) error {
		if _, err := r.Request.Cookie("route"); err != nil {
			number := strings.TrimSuffix(strings.TrimPrefix(r.Request.URL.Host, "10.0.0."), ":8080")
			pod, _ := strconv.Atoi(number)
			r.Header.Add("Set-Cookie", "route="+strconv.Itoa(pod-1))
		}
		return nil
	}
	keepAlive := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		pageOf(http.StatusTooManyRequests)(w, r)
	}
	return []truthCase{
		{name: "2 pods in turn", pods: 2, pick: inTurn, truth: spread("2", "none")},
		{name: "3 pods at random", pods: 3, pick: atRandom, truth: spread("3", "none")},
		{name: "5 pods at random", pods: 5, pick: atRandom, truth: spread("5", "none")},
		{name: "a pod for each connection", pods: 3, pick: byConnection, truth: spread("3", "none")},
		{name: "a pod for each client address", pods: 3, pick: func(*bench, *http.Request) int { return 1 },
			truth: spread("1", "one pod|*address*")},
		{name: "a pod for each cookie", pods: 2, pick: chosen, response: sticky,
			truth: merge(spread("2", "cookie"), truths{"response.headers.added": "Set-Cookie"})},
		{name: "a pod for each cookie, and other cookies", pods: 2, pick: chosen,
			response: func(r *http.Response) error { r.Header.Add("Set-Cookie", "visit=1"); return sticky(r) },
			echo:     []string{`ECHO_RESPONSE_HEADERS=[{"name": "Set-Cookie", "value": "a=1"}]`},
			truth:    merge(spread("2", "cookie"), truths{"response.headers.added": "none|Set-Cookie", "response.headers.changed": "*"})},
		{name: "the Echo sets a cookie", pods: 2, pick: atRandom,
			echo:  []string{`ECHO_RESPONSE_HEADERS=[{"name": "Set-Cookie", "value": "a=1"}]`},
			truth: merge(spread("2", "none"), truths{"response.headers.added": "none|Set-Cookie"})},
		{name: "connections are closed", truth: truths{"loadBalancing.keepAlive": "no"},
			around: wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if !isUpgrade(r) {
					w.Header().Set("Connection", "close")
				}
				next.ServeHTTP(w, r)
			})},
		{name: "keep-alive is refused", truth: truths{"loadBalancing.keepAlive": "no|refused 429"}, around: instead(keepAlive,
			func(r *http.Request) bool { return r.Header.Get("Connection") == "keep-alive" })},
		{name: "a pod is ejected after 3 failures", pods: 3, transport: ejecting(3, 1, inTurn),
			truth: merge(spread("3", "none"), truths{"outlierDetection": "1"})},
		{name: "all pods are ejected after 5 failures", pods: 2, transport: ejecting(5, 2, inTurn),
			truth: merge(spread("2", "none"), truths{"outlierDetection": "all|2"})},
		{name: "the only pod that the client uses is ejected", pods: 2, transport: ejecting(5, 1, func(*bench, *http.Request) int { return 0 }),
			truth: truths{"outlierDetection": "1"}},
	}
}

// ejecting sends no requests to a pod after some consecutive failures. It ejects a limited number of pods.
func ejecting(failures, most int, pick func(*bench, *http.Request) int) func(*bench, *http.Transport) http.RoundTripper {
	return func(b *bench, t *http.Transport) http.RoundTripper {
		var mutex sync.Mutex
		failed, ejected := map[string]int{}, map[string]bool{}
		choose := func() string {
			mutex.Lock()
			defer mutex.Unlock()
			start := pick(b, nil)
			for i := range b.pods {
				if pod := b.pods[(start+i)%len(b.pods)]; !ejected[pod] {
					return pod
				}
			}
			return ""
		}
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			pod := choose()
			if pod == "" {
				return nil, errors.New("no pod")
			}
			r.URL.Host = pod
			response, err := t.RoundTrip(r)
			mutex.Lock()
			defer mutex.Unlock()
			if failed[pod]++; err == nil && response.StatusCode < 500 {
				failed[pod] = 0
			}
			if failed[pod] >= failures && len(ejected) < most {
				ejected[pod] = true
			}
			return response, err
		})
	}
}

func firewallCases() []truthCase {
	query := func(text string) func(*http.Request) bool {
		return func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, text) }
	}
	one := func(name string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Header.Get(name) != "" }
	}
	headers := truths{}
	for _, each := range []string{"removed", "added", "changed", "case", "duplicates"} {
		headers["request.headers."+each] = transparentTruth()["request.headers."+each] + "|refused 403"
	}
	return []truthCase{
		{name: "delays are refused", vague: true, around: refuse(403, query("echo.delay")), truth: truths{"timeouts.response": ">30s|refused 403"}},
		{name: "queries are refused", vague: true, around: refuse(403, func(r *http.Request) bool { return r.URL.RawQuery != "" }),
			truth: truths{"request.query": "refused 403"}},
		{name: "controls are refused", around: refuse(403, query("echo."))},
		{name: "503 is refused", around: refuse(403, query("echo.status=503"))},
		{name: "Prefer is refused", vague: true, around: refuse(403, one("Prefer")), truth: headers},
		{name: "Forwarded is refused", around: refuse(403, one("Forwarded")), truth: truths{"client.spoofable[Forwarded]": "refused 403"}},
		{name: "Connection with names is refused",
			around:  refuse(400, func(r *http.Request) bool { return strings.Contains(r.Header.Get("Connection"), ",") }),
			request: set("X-Real-Ip", clientIP), truth: merge(addressed("X-Real-Ip", "not found"), truths{"client.removable": "refused 400"})},
		{name: "the proxy needs 1.7 s for each request", around: wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			<-time.After(1700 * time.Millisecond)
			next.ServeHTTP(w, r)
		})},
		{name: "gRPC is refused", around: refuse(415, func(r *http.Request) bool { return r.Header.Get("Content-Type") == "application/grpc" }),
			truth: truths{"grpc.unary": "refused 415"}},
		{name: "event streams are refused", around: refuse(403, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/sse") }),
			truth: truths{"response.stream": "refused 403"}},
	}
}
