package exchange

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// poolOf returns a pool that allows a record of the given number of nonces.
func poolOf(nonces int64) *transport.Pool {
	return &transport.Pool{Limit: nonces * nonceCost * 8}
}

// receive passes a request with a nonce to a record.
func receive(a *Arrivals, nonce, method string, body io.Reader) (*Exchange, *http.Request) {
	r := httptest.NewRequest(method, "/", body)
	r.Header.Set(proof.RequestHeader, nonce)
	e := New(httptest.NewRecorder(), r)
	a.Receive(e, r)
	return e, r
}

func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewArrivals(proof.Echo{}, poolOf(10))
		const nonce = "0123456789abcdef"
		_, first := receive(a, nonce, http.MethodGet, http.NoBody)
		if first.Body != http.NoBody {
			t.Error("a request without a body gets one")
		}
		<-time.After(5 * time.Millisecond)
		e, r := receive(a, nonce, "BASELINE-CONTROL-OF-MORE", iotest.OneByteReader(strings.NewReader("abc")))
		for i, want := range []string{"a", "b", "c"} {
			<-time.After(20 * time.Millisecond)
			data := make([]byte, 10)
			n, err := r.Body.Read(data)
			if err != nil || string(data[:n]) != want {
				t.Errorf("read is %q, %v", data[:n], err)
			}
			got := a.Record(nonce)
			if got.Arrivals[1].Size != int64(i+1) || got.Arrivals[1].Pieces != i+1 {
				t.Errorf("after %d pieces, the record is %+v", i+1, got)
			}
		}
		if n, err := r.Body.Read(nil); n != 0 || r.Body.Close() != nil {
			t.Errorf("an empty read returns %d, %v", n, err)
		}
		<-time.After(time.Hour)
		e.WriteHeader(http.StatusOK)
		claims, ok := (proof.Echo{}).Verify(nonce, e.Header().Get(proof.ResponseHeader))
		want := proof.Arrival{Method: "BASELINE-CONTROL", Length: -1, Size: 3, Pieces: 3, First: 20, Last: 60}
		if !ok || claims.Request != want || claims.Attempt != 2 || claims.Server != a.server || claims.Method != want.Method {
			t.Errorf("the claims are %+v, %v", claims, ok)
		}
		want.Time = 5
		got := a.Record(nonce)
		if !slices.Equal(got.Arrivals, []proof.Arrival{{Method: http.MethodGet}, want}) || got.Count != 2 || got.Server != a.server {
			t.Errorf("the record is %+v", got)
		}
	})
}

// TestArrivals_keepsFirstArrivals sends more requests than the record keeps, which it must count, and whose proofs must describe them.
func TestArrivals_keepsFirstArrivals(t *testing.T) {
	a := NewArrivals(proof.Echo{}, poolOf(10))
	const nonce = "0123456789abcdef"
	for i := range 3 * maxArrivals {
		e, r := receive(a, nonce, http.MethodPost, strings.NewReader(echotest.Payload(i)))
		_, _ = io.Copy(io.Discard, r.Body)
		e.WriteHeader(http.StatusOK)
		claims, ok := (proof.Echo{}).Verify(nonce, e.Header().Get(proof.ResponseHeader))
		if !ok || claims.Attempt != i+1 || claims.Request.Size != int64(i) {
			t.Errorf("request %d has the claims %+v", i, claims)
		}
	}
	got := a.Record(nonce)
	if got.Count != 3*maxArrivals || len(got.Arrivals) != maxArrivals || got.Arrivals[maxArrivals-1].Size != maxArrivals-1 {
		t.Errorf("the record is %+v", got)
	}
}

// TestArrivals_forgetsNonces counts more nonces than the record remembers, and asks for nonces, which keeps them.
func TestArrivals_forgetsNonces(t *testing.T) {
	pool := poolOf(3)
	a := NewArrivals(proof.Echo{}, pool)
	if got := pool.Used.Load(); got != 3*nonceCost {
		t.Errorf("3 nonces hold %d bytes", got)
	}
	nonce := func(i int) string { return fmt.Sprintf("%016x", i) }
	for i := range 4 {
		receive(a, nonce(i), http.MethodGet, http.NoBody)
		a.Record(nonce(0))
		a.Record(nonce(100 + i)) // asking for an unknown nonce must not displace another
	}
	for i, want := range []int{1, 0, 1, 1} {
		if got := a.Record(nonce(i)); got.Count != want || len(got.Arrivals) != want || got.Arrivals == nil {
			t.Errorf("nonce %d: the record is %+v", i, got)
		}
	}
}

// TestNewArrivals_fitsTheMemory checks how much of the budget the record holds.
func TestNewArrivals_fitsTheMemory(t *testing.T) {
	for limit, want := range map[int64]int{0: 1, 1 << 10: 1, 12 << 20: 1489, 128 << 20: maxNonces, 1 << 40: maxNonces} {
		pool := &transport.Pool{Limit: limit}
		a := NewArrivals(proof.Echo{}, pool)
		if used := pool.Used.Load(); a.nonces.most != want || used > limit/8 || used > 4400<<10 {
			t.Errorf("of %d bytes, %d hold %d nonces, want %d", limit, used, a.nonces.most, want)
		}
		if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(a.server) {
			t.Errorf("the ID of the server is %q", a.server)
		}
	}
}

// TestArrivals_holdsReservedMemory fills a record several times over, and measures its memory.
func TestArrivals_holdsReservedMemory(t *testing.T) {
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // so that finalizers have run
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	pool := poolOf(maxNonces)
	before := live()
	a := NewArrivals(proof.Echo{}, pool)
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	e := New(httptest.NewRecorder(), r)
	for i := range 3 * maxNonces {
		r.Header.Set(proof.RequestHeader, fmt.Sprintf("%064x", i)+"."+strings.Repeat("x", 1000))
		for range maxArrivals + 1 {
			a.Receive(e, r)
		}
	}
	if got, want := live()-before, pool.Used.Load(); got > want || got < want/2 {
		t.Errorf("the record holds %d bytes, and has reserved %d", got, want)
	}
	runtime.KeepAlive(a)
}

// TestExchange_signs calls the methods that begin a response, in each order that handlers use.
func TestExchange_signs(t *testing.T) {
	const nonce = "0123456789abcdef"
	for name, c := range map[string]struct {
		method string
		handle func(*Exchange)
		status int
		body   string // "-" means that it is not claimed
	}{
		"WriteHeader": {"GET", func(e *Exchange) { e.WriteHeader(http.StatusTeapot); e.WriteHeader(http.StatusOK) }, http.StatusTeapot, "-"},
		"WriteString": {"GET", func(e *Exchange) { _, _ = e.WriteString("a") }, 200, "-"},
		"a flush":     {"GET", func(e *Exchange) { _ = http.NewResponseController(e).Flush() }, 200, "-"},
		"nothing":     {"GET", func(e *Exchange) { e.Finish() }, 200, "-"},
		"a text":      {"GET", func(e *Exchange) { e.Reply(201, "text/plain", "hello") }, 201, "hello"},
		"HEAD":        {"HEAD", func(e *Exchange) { e.Reply(200, "text/plain", "hello") }, 200, "-"},
		"no content":  {"GET", func(e *Exchange) { e.Reply(204, "text/plain", "hello") }, 204, "-"},
		"another header after the status": {"GET", func(e *Exchange) {
			e.Reply(200, "text/plain", "hello")
			e.Header().Set("X-Late", "1")
			e.Finish()
		}, 200, "hello"},
		"fields of the connection": {"GET", func(e *Exchange) {
			for _, name := range []string{"Connection", "Content-Length", "Transfer-Encoding", "Trailer", "Upgrade",
				http.TrailerPrefix + "X-Sum"} {
				e.Header().Set(name, "1")
			}
			e.Header()["X-None"] = nil
			e.Reply(200, "text/plain", "hello")
		}, 200, "hello"},
	} {
		e, _ := receive(NewArrivals(proof.Echo{}, poolOf(10)), nonce, c.method, http.NoBody)
		e.Header().Set("Content-Type", "text/plain")
		c.handle(e)
		claims, ok := (proof.Echo{}).Verify(nonce, e.Header().Get(proof.ResponseHeader))
		if !ok || claims.Status != c.status || claims.Body != "" && claims.Body != proof.Digest([]byte(c.body)) ||
			(claims.Body == "") != (c.body == "-") || claims.Describes || len(claims.Fields) != 1 ||
			claims.Fields["Content-Type"] != proof.FieldDigest(e.Header()["Content-Type"]) {
			t.Errorf("%s: the claims are %+v, %v", name, claims, ok)
		}
	}
}
