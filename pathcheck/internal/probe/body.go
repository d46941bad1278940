package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

const (
	// largestBody is the size of the largest body that is sent. The Echo describes bodies of up to describedBody bytes, and sends only a
	// digest of larger bodies.
	largestBody, describedBody = 16 << 20, 8 << 20
	// pause is how long a request is interrupted, so that its first part can arrive before the rest is sent.
	pause = 1500 * time.Millisecond
)

// ExamineBody examines request bodies and range requests.
func ExamineBody(ctx context.Context, g *Group) error {
	const size = 1000
	err := g.Examine(ctx, &wire.Request{Method: "POST", Path: PlainPath, Chunked: true, Body: wire.Filler(size)},
		func(o Outcome) Fact { return decideChunks(size, o) })
	if err != nil {
		return err
	}
	if err := g.Each(ctx, examineRequestBuffer, examineExpect, examineRange); err != nil {
		return err
	}
	return climb(ctx, g, bodyLadder())
}

// decideChunks determines whether a body that was sent in chunks, without Content-Length, arrives.
func decideChunks(sent int, o Outcome) Fact {
	const name = "body.chunked"
	text := formatSize(sent) + " bytes in chunks"
	e := o.Described()
	switch {
	case e == nil:
		return refusedFact(name, text, o.Refusal)
	case e.Request.Body == nil || e.Request.Body.Size != int64(sent):
		return NewFact(name, Dropped, text, "no body")
	case e.Request.ContentLength >= 0:
		return NewFact(name, "length set", text, "Content-Length: "+formatSize(int(e.Request.ContentLength)))
	}
	return NewFact(name, Kept, text, text)
}

// examineRequestBuffer pauses while it sends a body, and uses the Echo's clock to determine whether the header arrived during the pause.
func examineRequestBuffer(ctx context.Context, g *Group) error {
	ahead, took, err := clock(ctx, g)
	if err != nil {
		return err
	}
	s, err := g.Open(ctx, &wire.Request{Method: "POST", Path: PlainPath, Chunked: true})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // only the data read so far matters
	last, err := sendInterrupted(ctx, s)
	if err != nil {
		return err
	}
	a, err := g.Read(s, wire.MaxBody)
	o, err := g.Outcome(ctx, a, err)
	if err == nil {
		g.Add(decideRequestBuffer(last.Add(ahead), took, o))
	}
	return err
}

// clock returns a lower bound on how far the Echo's clock is ahead of the local clock, and the time that the response took. The bound holds
// because the Echo receives a request before the client receives the response. It is too low by at most this time, so the Echo's own delay
// must not be a part of it.
func clock(ctx context.Context, g *Group) (ahead, took time.Duration, err error) {
	const requests = 3 // the fastest request counts
	took = wire.Timeout
	path := PlainPath
	if g.Known.Controls {
		path += "?echo.delay=0s"
	}
	for range requests {
		o, err := g.Ask(ctx, &wire.Request{Path: path})
		if err != nil {
			return 0, 0, err
		}
		if e := o.Described(); e != nil && o.Took < took {
			ahead, took = time.Until(e.Request.Time), o.Took
		}
	}
	return ahead, took, nil
}

// sendInterrupted sends a body of two chunks with a pause between them, and returns the time at which the second chunk was sent.
func sendInterrupted(ctx context.Context, s *wire.Stream) (last time.Time, err error) {
	if err := wire.WriteChunk(s, wire.Filler(1000)); err != nil {
		return last, nil //nolint:nilerr // a proxy may have responded
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return last, ErrDeadline
	}
	last = time.Now()
	if wire.WriteChunk(s, wire.Filler(1000)) == nil {
		_ = wire.EndChunks(s, nil) // a proxy may have responded
	}
	return last, nil
}

// decideRequestBuffer compares the arrival time of the header with the time at which the last chunk was sent. Both times are from the same
// clock, but the second may be too early by the given error.
func decideRequestBuffer(last time.Time, tooEarly time.Duration, o Outcome) Fact {
	const name = "body.request"
	const sent = "two chunks with a pause between them"
	e := o.Described()
	switch {
	case e == nil:
		return refusedFact(name, sent, o.Refusal)
	case e.Request.Time.Before(last):
		return NewFact(name, "streamed", sent, "the header, before the second chunk was sent")
	case tooEarly >= pause:
		return NewFact(name, "not reported", sent, "no response within "+pause.String()+", which is necessary to compare clocks")
	}
	return NewFact(name, "buffered", sent, "the header, after the second chunk was sent")
}

// examineExpect announces a body, and sends it after an interim response or a pause.
func examineExpect(ctx context.Context, g *Group) error {
	s, err := g.Open(ctx, &wire.Request{Method: "POST", Path: PlainPath,
		Fields: wire.Fields("Expect", "100-continue", "Content-Length", "100")})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // only the data read so far matters
	status, err := awaitContinue(ctx, s)
	if err != nil {
		return err
	}
	a := &wire.Response{Status: status}
	if status < http.StatusOK {
		_ = s.Send(wire.Filler(100)) // a proxy may have responded
		a, err = g.Read(s, wire.MaxBody)
	}
	o, err := g.Outcome(ctx, a, err)
	if err == nil {
		g.Add(decideExpect(status, o))
	}
	return err
}

// awaitContinue returns the status that arrives before the body is sent, or 0 if no status arrives in time.
func awaitContinue(ctx context.Context, s *wire.Stream) (int, error) {
	awaited := s.SetReadDeadline(time.Now().Add(pause))
	if _, err := s.Reader.Peek(1); err != nil || awaited != nil {
		if ctx.Err() != nil {
			return 0, ErrDeadline
		}
		return 0, s.SetReadDeadline(time.Now().Add(wire.Timeout))
	}
	if err := s.SetReadDeadline(time.Now().Add(wire.Timeout)); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(s.Reader, nil) //nolint:bodyclose // the body ends with the connection
	if err != nil {
		return 0, nil //nolint:nilerr // the next read returns the error
	}
	return response.StatusCode, nil
}

func decideExpect(status int, o Outcome) Fact {
	const name, sent = "body.expect", "Expect: 100-continue"
	e := o.Described()
	switch {
	case e == nil:
		return refusedFact(name, sent, o.Refusal)
	case status == 0:
		return NewFact(name, "not sent", sent, "the request, and no response before the body")
	case e.Has("Expect"):
		return NewFact(name, Kept, sent, sent)
	}
	return NewFact(name, "sent by proxy", sent, "the request without Expect")
}

// examineRange requests a range of a description, and then a range of a body. The Echo serves only the second range.
func examineRange(ctx context.Context, g *Group) error {
	const all = "bytes=0-999999"
	path := PlainPath + "/range"
	if g.Known.Controls {
		path += "?echo.status=200" // the Echo's own status may not allow ranges
	}
	o, err := g.Ask(ctx, &wire.Request{Path: path, Fields: wire.Fields("Range", all)})
	if err != nil {
		return err
	}
	first := decideRange(all, o)
	if first.Value != Kept || !g.Known.Controls {
		g.Add(first)
		return nil
	}
	const some = "bytes=10-19"
	o, err = g.Ask(ctx, &wire.Request{Path: path + "&echo.size=100", Fields: wire.Fields("Range", some)})
	if err != nil {
		return err
	}
	if o.Response == nil || o.Status != http.StatusPartialContent || o.Size != 10 {
		first = NewFact(first.Name, Changed, "Range: "+some, "a response without a range")
	}
	g.Add(first)
	return nil
}

func decideRange(sent string, o Outcome) Fact {
	const name = "body.range"
	text := "Range: " + sent
	switch {
	case o.Refusal != "":
		return refusedFact(name, text, o.Refusal)
	case o.Status == http.StatusPartialContent:
		return NewFact(name, "served by proxy", text, "no Range")
	case o.Description != nil && strings.Join(o.Description.Values("Range"), "") == sent:
		return NewFact(name, Kept, text, text)
	}
	return NewFact(name, Dropped, text, "no Range")
}

// bodyLadder finds the largest body that the Echo receives completely and unchanged.
func bodyLadder() ladder {
	return ladder{"body.max", "body.max.by",
		[]int{64 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 10 << 20, largestBody},
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
		}}
}
