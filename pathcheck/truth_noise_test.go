package pathcheck

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// quietly is the name of no noise.
const quietly = "quiet"

// noise is what disturbs requests between the client and the proxy, whichever they are.
type noise struct {
	name      string
	isUsual   bool // not only with TRUTH_TABLE=all
	around    func(*bench, http.Handler) http.Handler
	roundTrip time.Duration
	bits      int // per second, in each direction, of all connections together; 0 means no limit
}

func noises() []noise {
	all := []noise{{name: quietly}}
	for _, percent := range []int{1, 2, 10} {
		share := strconv.Itoa(percent) + " % "
		all = append(all,
			noise{name: share + "502", isUsual: percent == 2, around: fail(percent, pageOf(http.StatusBadGateway))},
			noise{name: share + "resets", around: fail(percent, reset)},
			noise{name: share + "silence", around: fail(percent, silence)})
	}
	return append(all,
		noise{name: "20 a second, else 429", around: limitRate(http.StatusTooManyRequests)},
		noise{name: "20 a second, else 503", around: limitRate(http.StatusServiceUnavailable)},
		noise{name: "500 kbit a second", bits: 500_000},
		noise{name: "5 Mbit a second", bits: 5_000_000},
		noise{name: "round trips of 200 ms", roundTrip: 200 * time.Millisecond},
		noise{name: "round trips of 2 s", roundTrip: 2 * time.Second},
		noise{name: "every second request elsewhere", around: elsewhere(func(b *bench, _ *http.Request) bool { return b.next(ofNoise)%2 == 1 })},
		noise{name: "random requests elsewhere", around: elsewhere(func(b *bench, _ *http.Request) bool { return b.chance(50) })},
		noise{name: "random connections elsewhere", around: elsewhere(func(_ *bench, r *http.Request) bool { return numberOf(r)%2 == 1 })})
}

// appliesTo reports whether the noise exists on a path. Noise needs a proxy that reads requests, except on the line to it.
func (n *noise) appliesTo(c *truthCase) bool { return n.around == nil || !c.direct && !c.nat }

func (n *noise) line() line {
	if n.roundTrip == 0 && n.bits == 0 {
		return line{}
	}
	one := func() *link { return &link{latency: n.roundTrip / 2, bytesPerSecond: n.bits / 8} }
	return line{up: one(), down: one()}
}

// fail makes a percentage of the requests fail.
func fail(percent int, how http.HandlerFunc) func(*bench, http.Handler) http.Handler {
	return func(b *bench, next http.Handler) http.Handler {
		return instead(how, func(*http.Request) bool { return b.chance(percent) })(b, next)
	}
}

// pageOf responds as proxies do that have a page for errors.
func pageOf(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><h1>"+http.StatusText(status)+"</h1><hr>proxy</html>\n")
	}
}

// reset resets the connection, or the stream of an HTTP/2 connection.
func reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if resettable, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		_ = resettable.SetLinger(0)
	}
	_ = c.Close()
}

// silence reads a request, and does not respond.
func silence(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // net/http notices that a client leaves only after its request was read
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// limitRate refuses requests beyond 20 per second, after a burst of 20.
func limitRate(status int) func(*bench, http.Handler) http.Handler {
	return func(_ *bench, next http.Handler) http.Handler {
		limiter := rate.NewLimiter(20, 20)
		return instead(pageOf(status), func(*http.Request) bool { return !limiter.Allow() })(nil, next)
	}
}

// elsewhere sends some requests to a server that is no Echo.
func elsewhere(sent func(*bench, *http.Request) bool) func(*bench, http.Handler) http.Handler {
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }
	return func(b *bench, next http.Handler) http.Handler {
		return instead(hello, func(r *http.Request) bool { return sent(b, r) })(b, next)
	}
}
