package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

const (
	// largestBody is the size of the largest body that is sent. The Echo describes bodies of up to describedBody bytes, and sends only a
	// digest of larger bodies.
	largestBody, describedBody = 16 << 20, 8 << 20
	// pause is how long a request is interrupted, so that its first part can arrive before the rest is sent.
	pause = 1500 * time.Millisecond
)

// ExamineBody examines short request bodies and range requests.
func ExamineBody(ctx context.Context, g *Group) error {
	return g.Each(ctx, examineChunks, examineRequestBuffer, examineExpect, examineRange)
}

// ExamineLargeBody finds the largest body that arrives.
func ExamineLargeBody(ctx context.Context, g *Group) error {
	return g.climb(ctx, bodyLadder(g.Large, g.Known.Query))
}

// sizes are the sizes of bodies that proxies may handle in different ways: many buffer 8 or 16 KiB.
func sizes() []int { return []int{1000, 20 << 10} }

// forSizes performs an experiment with each size, and adds a fact. If the values differ, the fact contains both.
func (g *Group) forSizes(ctx context.Context, fact, sent string, experimentWith func(size int) experiment) error {
	results, err := g.together(ctx, len(sizes()), func(i int) experiment { return experimentWith(sizes()[i]) })
	if err != nil {
		return err
	}
	x := experiment{fact: fact, sent: sent}
	short, long := results[0], results[1]
	if short.value != "" && long.value != "" && short.value != long.value {
		long.value = short.value + " if short, else " + long.value
		long.received = short.received + "; " + long.received
	} else if short.value == "" {
		long = short
	}
	g.conclude(x, long)
	return nil
}

// examineChunks determines whether bodies that are sent in chunks, without Content-Length, arrive.
func examineChunks(ctx context.Context, g *Group) error {
	const name, sent = "body.chunked", "1,000 bytes and 20 KiB in chunks"
	return g.forSizes(ctx, name, sent, func(size int) experiment {
		return experiment{fact: name, sent: sent,
			probe: func() *wire.Request {
				return &wire.Request{Method: "POST", Path: PlainPath, Chunked: true, Body: wire.Filler(size)}
			},
			read: func(o Outcome) (string, string) { return decideChunks(size, &o.Claims.Request) }}
	})
}

func decideChunks(size int, received *proof.Arrival) (value, text string) {
	switch {
	case received.Size != int64(size):
		return Dropped, fmt.Sprintf("%d bytes", received.Size)
	case received.Length >= 0:
		return "length set", fmt.Sprintf("Content-Length: %d", received.Length)
	}
	return Kept, formatSize(size) + " in chunks"
}

// examineRequestBuffer pauses while it sends a body. The Echo reports when the first and the last piece of the body arrived.
func examineRequestBuffer(ctx context.Context, g *Group) error {
	const name, sent = "body.request", "two chunks with a pause between them, of 1,000 bytes and of 20 KiB each"
	return g.forSizes(ctx, name, sent, func(size int) experiment {
		return experiment{fact: name, sent: sent,
			probe: func() *wire.Request { return &wire.Request{Method: "POST", Path: PlainPath, Chunked: true} },
			send: func(ctx context.Context, r *wire.Request) (*wire.Response, error) {
				s, err := g.Open(ctx, r)
				if err != nil {
					return nil, err
				}
				defer func() { _ = s.Close() }() // only the data read so far matters
				if err := sendInterrupted(ctx, s, size, pause+g.Slow/2); err != nil {
					return nil, err
				}
				return g.Read(s, wire.MaxBody)
			},
			read: func(o Outcome) (string, string) { return decideRequestBuffer(2*size, &o.Claims.Request) }}
	})
}

// sendInterrupted sends a body of two chunks with a pause between them.
func sendInterrupted(ctx context.Context, s *wire.Stream, size int, longer time.Duration) error {
	if wire.WriteChunk(s, wire.Filler(size)) != nil {
		return nil //nolint:nilerr // a proxy may have responded
	}
	select {
	case <-time.After(longer):
	case <-ctx.Done():
		return ErrDeadline
	}
	if wire.WriteChunk(s, wire.Filler(size)) == nil {
		_ = wire.EndChunks(s, nil) // a proxy may have responded
	}
	return nil
}

func decideRequestBuffer(size int, received *proof.Arrival) (value, text string) {
	between := time.Duration(received.Last-received.First) * time.Millisecond
	text = fmt.Sprintf("the last bytes %s after the first", between.Round(100*time.Millisecond))
	switch {
	case received.Size != int64(size):
		return "", fmt.Sprintf("%d bytes of the body arrived", received.Size)
	case between >= pause/2:
		return "streamed", text
	}
	return "buffered", text
}

// examineExpect announces a body, and sends it after an interim response or a pause.
func examineExpect(ctx context.Context, g *Group) error {
	return g.find(ctx, experiment{fact: "body.expect", sent: "Expect: 100-continue",
		probe: func() *wire.Request {
			return &wire.Request{Method: "POST", Path: PlainPath, Fields: wire.Fields("Expect", "100-continue", "Content-Length", "100")}
		},
		send: func(ctx context.Context, r *wire.Request) (*wire.Response, error) {
			s, err := g.Open(ctx, r)
			if err != nil {
				return nil, err
			}
			defer func() { _ = s.Close() }() // only the data read so far matters
			status, err := g.awaitContinue(ctx, s)
			if err != nil {
				return nil, err
			}
			select {
			case <-time.After(pause): // the Echo reports when it received the header
			case <-ctx.Done():
				return nil, ErrDeadline
			}
			_ = s.Send(wire.Filler(100)) // a proxy may have responded
			a, err := g.Read(s, wire.MaxBody)
			if a != nil {
				a.Continue = status
			}
			return a, err
		},
		read: decideExpect})
}

// awaitContinue returns the status that arrives before the body is sent, or 0 if no status arrives in time. It leaves a final response to
// the caller.
func (g *Group) awaitContinue(ctx context.Context, s *wire.Stream) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(pause + g.Slow)); err != nil {
		return 0, err
	}
	begin, err := s.Reader.Peek(len("HTTP/1.1 100"))
	if ctx.Err() != nil {
		return 0, ErrDeadline
	}
	if renewed := s.SetReadDeadline(time.Now().Add(wire.Timeout + g.Slow)); renewed != nil || err != nil {
		return 0, renewed // without a response in time, the body is sent
	}
	status, _ := strconv.Atoi(string(begin[len(begin)-3:])) // a response that is not HTTP is an error of the next read
	return status, nil
}

func decideExpect(o Outcome) (value, received string) {
	e := o.Described()
	switch {
	case e == nil:
		return "", whyNotDescribed(o)
	case o.Continue == 0:
		return "not sent", "the request, and no response before the body"
	case !e.Has("Expect"):
		return "sent by proxy", "the request without Expect"
	case time.Duration(o.Claims.Request.First)*time.Millisecond < pause/2:
		return "sent by proxy", "the header together with the body"
	}
	return Kept, "Expect: 100-continue"
}

// examineRange requests a range of a description, and then a range of a body. The Echo serves only the second range.
func examineRange(ctx context.Context, g *Group) error {
	const name, all, some = "body.range", "bytes=0-999999", "bytes=10-19"
	path := PlainPath + "/range"
	if g.Known.Controls {
		path += "?echo.status=200" // the Echo's own status may not allow ranges
	}
	x := experiment{fact: name, sent: "Range: " + all,
		probe: func() *wire.Request { return &wire.Request{Path: path, Fields: wire.Fields("Range", all)} },
		read: func(o Outcome) (string, string) {
			switch {
			case o.Status == http.StatusPartialContent && o.Claims.Status != o.Status:
				return "served by proxy", "no Range"
			case o.Description == nil:
				return "", whyNotDescribed(o)
			case isUnchanged(all, o.Description.Values("Range")):
				return Kept, "Range: " + all
			}
			return Dropped, "no Range"
		}}
	r, err := g.perform(ctx, x)
	if err != nil {
		return err
	}
	if r.value != Kept || !g.Known.Controls {
		g.conclude(x, r)
		return nil
	}
	return g.find(ctx, experiment{fact: name, sent: "Range: " + some,
		probe: func() *wire.Request {
			return &wire.Request{Path: path + "&echo.size=100", Fields: wire.Fields("Range", some)}
		},
		read: func(o Outcome) (string, string) {
			if o.Status == http.StatusPartialContent && o.Size == 10 {
				return Kept, "Range: " + some
			}
			return Changed, "a response without a range"
		}})
}

// bodyLadder finds the largest body that the Echo receives completely and unchanged.
func bodyLadder(large, query bool) ladder {
	all := []int{64 << 10, 512 << 10, 1 << 20, 2 << 20}
	if large {
		all = append(all, 4<<20, describedBody)
	}
	if large && query { // the Echo reports the digest of larger bodies only if the query requests it
		all = append(all, 10<<20, largestBody)
	}
	return ladder{"body.max", "body.max.by", all,
		func(size int) *wire.Request {
			path := PlainPath
			if size > describedBody {
				path = "/-/body?digest"
			}
			return &wire.Request{Method: "POST", Path: path, Body: wire.Filler(size), Timeout: wire.LongTimeout,
				Fields: wire.Fields("Content-Type", "application/octet-stream")}
		}, formatSize, func(size int, o Outcome) bool {
			sum := sha256.Sum256(wire.Filler(size))
			switch e := o.Described(); {
			case o.Refusal != "":
				return false
			case size > describedBody:
				return string(o.Body) == fmt.Sprintf("%d %x\n", size, sum)
			default:
				return e != nil && e.Request.Body != nil && e.Request.Body.SHA256 == hex.EncodeToString(sum[:])
			}
		}, 0, true}
}
