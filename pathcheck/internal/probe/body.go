package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
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
	return g.climb(ctx, bodyLadder(g.Large, g.Known.Query && g.Known.unrouted == ""))
}

// sizes are the sizes of bodies that proxies may handle in different ways: many buffer 8 or 16 KiB.
func sizes() []int { return []int{1000, 20 << 10} }

// examineChunks determines whether bodies that are sent in chunks, without Content-Length, arrive.
func examineChunks(ctx context.Context, g *Group) error {
	r, err := both(ctx, g, "short", sizes(), func(size int) experiment {
		return experiment{probe: wire.Request{Method: "POST", Path: PlainPath, Chunked: true, Body: wire.Filler(size)},
			read: func(o Outcome) (string, string) { return decideChunks(size, &o.Claims.Request) }}
	})
	return g.conclude(experiment{fact: "body.chunked", sent: "1,000 bytes and 20 KiB in chunks"}, r, err)
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
	r, err := both(ctx, g, "short", sizes(), func(size int) experiment {
		return experiment{probe: wire.Request{Method: "POST", Path: PlainPath, Chunked: true},
			send: g.onStream(func(ctx context.Context, s *wire.Stream) (*wire.Response, error) {
				chunks := httputil.NewChunkedWriter(s) // writing fails if a proxy has already responded
				_, _ = chunks.Write(wire.Filler(size))
				if err := sleep(ctx, pause+g.Slow/2); err != nil {
					return nil, err
				}
				_, _ = chunks.Write(wire.Filler(size))
				wire.EndChunks(s, nil)
				return g.Read(s, wire.MaxBody)
			}),
			read: func(o Outcome) (string, string) { return decideRequestBuffer(2*size, &o.Claims.Request) }}
	})
	return g.conclude(experiment{fact: "body.request", sent: "two chunks with a pause between them, of 1,000 bytes and of 20 KiB each"}, r, err)
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
	return g.find(ctx, experiment{fact: "body.expect", sent: "Expect: 100-continue", read: decideExpect,
		probe: wire.Request{Method: "POST", Path: PlainPath, Timeout: wire.Timeout + 2*pause,
			Fields: wire.Fields("Expect", "100-continue", "Content-Length", "100")},
		send: g.onStream(func(ctx context.Context, s *wire.Stream) (*wire.Response, error) {
			begin := s.Await(len("HTTP/1.1 100"), pause+g.Slow)
			if err := sleep(ctx, pause); err != nil { // the Echo reports when it received the header
				return nil, err
			}
			_, _ = s.Write(wire.Filler(100)) // a proxy may have responded
			a, err := g.Read(s, wire.MaxBody)
			if a != nil {
				a.Continue, _ = strconv.Atoi(begin[max(0, len(begin)-3):]) // a response that is not HTTP is an error of Read
			}
			return a, err
		})})
}

// sleep waits for a time, unless the run is over.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return DeadlineIn(ctx)
	}
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
		probe: wire.Request{Path: path, Fields: wire.Fields("Range", all)},
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
	if err != nil || r.value != Kept || !g.Known.Controls {
		return g.conclude(x, r, err)
	}
	return g.find(ctx, experiment{fact: name, sent: "Range: " + some,
		probe: wire.Request{Path: path + "&echo.size=100", Fields: wire.Fields("Range", some)},
		read: func(o Outcome) (string, string) {
			isPart := o.Status == http.StatusPartialContent && o.Size == 10
			return choose(isPart, Kept, Changed), choose(isPart, "Range: "+some, "a response without a range")
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
	return ladder{"body.max", "body.max.by", all, formatSize, 0, nil, true,
		func(size int) *wire.Request {
			path := choose(size > describedBody, "/-/body?digest", PlainPath)
			return &wire.Request{Method: "POST", Path: path, Body: wire.Filler(size), Timeout: wire.LongTimeout,
				Fields: wire.Fields("Content-Type", "application/octet-stream")}
		}}
}
