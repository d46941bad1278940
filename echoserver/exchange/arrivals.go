package exchange

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/internal/proof"
)

const (
	// maxNonces and maxArrivals are how many nonces Arrivals remembers, and how many requests with the same nonce.
	maxNonces, maxArrivals = 4096, 16
	// nonceCost is the maximum memory, in bytes, that a nonce holds: 16 arrivals of 48 bytes, their pointers, and the nonce's place in the map
	// and in the list. TestArrivals_holdsReservedMemory checks that it is large enough.
	nonceCost = 1056
)

// Arrivals remembers the requests that asked for a proof, by nonce. It keeps neither their fields nor their content.
type Arrivals struct {
	echo   proof.Echo
	server string // a random ID, which distinguishes servers even if they hide their identity
	seed   maphash.Seed
	mutex  sync.Mutex
	nonces *Recent[sameNonce] // the key is a hash
}

type sameNonce struct {
	began    time.Time // when the first request arrived
	count    int
	arrivals []*arrival // the first maxArrivals requests
}

// arrival is a compact proof.Arrival.
type arrival struct {
	length, size              int64
	pieces, first, last, time uint32
	method                    [16]byte // the beginning of the method, then zeros
}

// NewArrivals returns an empty record for an Echo. The record acquires its memory from the pool once, because it outlives the requests. A
// server with little memory remembers fewer nonces, so that the record holds at most an eighth of the pool.
func NewArrivals(echo proof.Echo, pool *transport.Pool) *Arrivals {
	most := max(1, min(maxNonces, pool.Limit/8/nonceCost))
	pool.Acquire(most * nonceCost)
	return &Arrivals{echo: echo, server: NewRequestID(), seed: maphash.MakeSeed(), nonces: NewRecent[sameNonce](int(most))}
}

// Receive counts a request that asks for a proof, and lets the exchange sign the response. Other requests stay as they are.
func (a *Arrivals) Receive(e *Exchange, r *http.Request) {
	values := r.Header[proof.RequestHeader]
	if len(values) != 1 {
		return
	}
	nonce, as, ok := a.echo.Respond(values[0])
	if !ok {
		return
	}
	w := &witness{ReadCloser: r.Body, record: a, echo: as, nonce: strings.Clone(nonce), // without the rest of the value, which can be long
		began: e.Began, arrival: &arrival{length: r.ContentLength}}
	copy(w.arrival.method[:], r.Method)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	same := a.nonces.At(maphash.String(a.seed, nonce))
	same.began = cmp.Or(same.began, e.Began)
	same.count++
	w.claims = proof.Claims{Server: a.server, Attempt: same.count}
	w.arrival.time = uint32(max(0, e.Began.Sub(same.began).Milliseconds())) // of two requests at once, the second may have begun first
	if len(same.arrivals) < maxArrivals {
		same.arrivals = append(same.arrivals, w.arrival)
	}
	e.witness = w
	if r.Body != http.NoBody {
		r.Body = w
	}
}

// Record returns the requests with a nonce, and what has arrived of their bodies so far.
func (a *Arrivals) Record(nonce string) proof.Record {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	record := proof.Record{Server: a.server, Arrivals: []proof.Arrival{}}
	if same := a.nonces.Get(maphash.String(a.seed, nonce)); same != nil {
		record.Count = same.count
		for _, each := range same.arrivals {
			record.Arrivals = append(record.Arrivals, each.seen())
		}
	}
	return record
}

func (a *arrival) seen() proof.Arrival {
	return proof.Arrival{Method: string(bytes.TrimRight(a.method[:], "\x00")), Length: a.length, Size: a.size, Pieces: int(a.pieces),
		First: int64(a.first), Last: int64(a.last), Time: int64(a.time)}
}

// witness makes the claims for the proof in a response. As the request's body, it counts what the server reads.
type witness struct {
	io.ReadCloser // the body
	record        *Arrivals
	arrival       *arrival // guarded by the record's mutex
	echo          proof.Echo
	nonce         string
	began         time.Time
	claims        proof.Claims
}

func (w *witness) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.record.mutex.Lock()
		defer w.record.mutex.Unlock()
		w.arrival.last = uint32(time.Since(w.began).Milliseconds())
		if w.arrival.pieces == 0 {
			w.arrival.first = w.arrival.last
		}
		w.arrival.pieces++
		w.arrival.size += int64(n)
	}
	return n, err
}

func (w *witness) sign(status int, header http.Header) string {
	c := w.claims
	w.record.mutex.Lock()
	c.Request = w.arrival.seen()
	w.record.mutex.Unlock()
	c.Status, c.Method, c.Request.Time, c.Fields = status, c.Request.Method, 0, map[string]string{}
	if c.Method == http.MethodHead || !AllowsBody(status) {
		c.Body, c.Describes = "", false
	}
	unclaimed := []string{"Connection", "Content-Length", "Transfer-Encoding", "Trailer", "Upgrade", proof.ResponseHeader}
	for name, values := range header {
		if len(values) > 0 && !slices.Contains(unclaimed, name) && !strings.HasPrefix(name, http.TrailerPrefix) {
			c.Fields[name] = proof.FieldDigest(values)
		}
	}
	return w.echo.Sign(w.nonce, &c)
}

// Claim makes the proof cover the body of the response, and whether the body is a JSON description of the request. It must be called before
// the header is written. It calls body only if there will be a proof.
func (e *Exchange) Claim(describes bool, body func() io.Reader) {
	if e.witness != nil {
		e.witness.claims.Body, e.witness.claims.Describes = proof.DigestOf(body()), describes
	}
}

// Enclose puts a proof of its own in front of the description in a WebSocket's first message, because a gateway may write its own header
// for the handshake. Without a proof, the description stays as it is.
func (e *Exchange) Enclose(description []byte) []byte {
	if e.witness != nil {
		w := *e.witness
		w.claims.Body, w.claims.Describes = proof.Digest(description), true
		description = proof.Enclose(w.sign(http.StatusSwitchingProtocols, nil), description)
	}
	return description
}

// begin records the final response's status, and adds the applied controls and the proof to its header. Call it before writing the header.
func (e *Exchange) begin(status int) {
	if e.Status != 0 {
		return
	}
	e.Status = status
	if e.Applied != nil {
		e.Header().Set("X-Echo-Applied", e.Applied.String())
		e.Applied.Each(e.Count)
	}
	trimValues(e.Header())
	if e.witness != nil {
		e.Header().Set(proof.ResponseHeader, e.witness.sign(status, e.Header()))
	}
}

// Reply responds with a body that consists of one text.
func (e *Exchange) Reply(status int, mediaType, text string) {
	e.Header().Set("Content-Type", mediaType)
	e.Claim(false, func() io.Reader { return strings.NewReader(text) })
	e.WriteHeader(status)
	_, _ = e.WriteString(text) // the client may have disconnected
}
