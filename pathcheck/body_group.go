package pathcheck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// largestBody is what is sent at most. The Echo describes bodies of up to describedBody, and of larger ones only the digest.
	largestBody, describedBody = 16 << 20, 8 << 20
	// pause is how long a request or an answer is interrupted, to see whether what came before arrives meanwhile.
	pause = 1500 * time.Millisecond
)

// examineBody examines what happens to bodies of requests, and to ranges.
func examineBody(ctx context.Context, g *group) error {
	return g.each(ctx, examineChunks, examineRequestBuffer, examineExpect, examineRange, examineBodyLimit)
}

func examineBodyLimit(ctx context.Context, g *group) error {
	return climb(ctx, g, bodyLadder())
}

func bodyLadder() ladder {
	return ladder{"body.max", "the largest body that arrives whole, of those that are tried", []int{64 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 10 << 20, largestBody},
		func(size int) *request {
			path := plainPath
			if size > describedBody {
				path = "/-/body?digest"
			}
			return &request{method: "POST", path: path, body: filler(size), timeout: longTimeout, fields: []field{{"Content-Type", "application/octet-stream"}}}
		}, size, arrivedWhole}
}

// arrivedWhole reports whether the Echo received a body of a size as it was sent.
func arrivedWhole(size int, o outcome) bool {
	sum := sha256.Sum256(filler(size))
	switch e := o.echoed(); {
	case o.refusal != "":
		return false
	case size > describedBody:
		return string(o.body) == fmt.Sprintf("%d %x\n", size, sum)
	case e == nil || e.Request.Body == nil:
		return false
	default:
		return e.Request.Body.SHA256 == hex.EncodeToString(sum[:])
	}
}

// examineChunks sends a body without its size.
func examineChunks(ctx context.Context, g *group) error {
	const sent = 1000
	return g.examine(ctx, &request{method: "POST", path: plainPath, chunked: true, body: filler(sent)},
		func(o outcome) Fact { return decideChunks(sent, o) })
}

func decideChunks(sent int, o outcome) Fact {
	const name, meaning = "body.chunked", "whether a body arrives that was sent in chunks, without Content-Length"
	text := size(sent) + " bytes in chunks"
	e := o.echoed()
	switch {
	case e == nil:
		return refusedFact(name, text, o.refusal, meaning)
	case e.Request.Body == nil || e.Request.Body.Size != int64(sent):
		return newFact(name, dropped, text, "no body", meaning)
	case e.Request.ContentLength >= 0:
		return newFact(name, "length set", text, "Content-Length: "+size(int(e.Request.ContentLength)), meaning)
	}
	return newFact(name, kept, text, text, meaning)
}

// examineRequestBuffer interrupts a body, and finds out by the clock of the Echo whether the header arrived meanwhile.
func examineRequestBuffer(ctx context.Context, g *group) error {
	offset, err := clock(ctx, g)
	if err != nil {
		return err
	}
	s, err := g.open(ctx, &request{method: "POST", path: plainPath, chunked: true})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // what was read decides
	last, err := sendInterrupted(ctx, s)
	if err != nil {
		return err
	}
	a, err := g.read(s, maxBody)
	o, err := g.outcome(ctx, a, err)
	if err == nil {
		g.add(decideRequestBuffer(last.Add(offset), o))
	}
	return err
}

// clock returns how much the clock of the Echo is ahead, at least: a request arrives before its response.
func clock(ctx context.Context, g *group) (ahead time.Duration, err error) {
	const requests = 3 // of which the quickest decides
	for i := range requests {
		o, err := g.ask(ctx, &request{path: plainPath})
		if err != nil {
			return 0, err
		}
		if e := o.echoed(); e != nil {
			if least := time.Until(e.Request.Time); i == 0 || least > ahead {
				ahead = least
			}
		}
	}
	return ahead, nil
}

// sendInterrupted sends a body of two chunks with a pause between them, and returns when the second one was sent.
func sendInterrupted(ctx context.Context, s *stream) (last time.Time, err error) {
	if err := writeChunk(s, filler(1000)); err != nil {
		return last, nil //nolint:nilerr // the way may have responded
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return last, errDeadline
	}
	last = time.Now()
	if writeChunk(s, filler(1000)) == nil {
		_ = endChunks(s, nil) // the way may have responded
	}
	return last, nil
}

// decideRequestBuffer compares when the header arrived with when the last chunk was sent, by the same clock.
func decideRequestBuffer(last time.Time, o outcome) Fact {
	const name, meaning = "body.request", "whether a request arrives while its body is sent, or only when the way has it all; uploads of long streams need the first"
	const sent = "two chunks with a pause between them"
	e := o.echoed()
	switch {
	case e == nil:
		return refusedFact(name, sent, o.refusal, meaning)
	case e.Request.Time.Before(last):
		return newFact(name, "streamed", sent, "the header, before the second chunk was sent", meaning)
	}
	return newFact(name, "buffered", sent, "the header, after the second chunk was sent", meaning)
}

// examineExpect announces a body, and sends it when it is asked for.
func examineExpect(ctx context.Context, g *group) error {
	body := filler(100)
	s, err := g.open(ctx, &request{method: "POST", path: plainPath, fields: []field{{"Expect", "100-continue"}, {"Content-Length", "100"}}})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // what was read decides
	status, err := awaitContinue(ctx, s)
	if err != nil {
		return err
	}
	var a *answer
	if status < http.StatusOK {
		_ = s.send(body) // the way may have responded
		a, err = g.read(s, maxBody)
	} else {
		a = &answer{status: status}
	}
	o, err := g.outcome(ctx, a, err)
	if err == nil {
		g.add(decideExpect(status, o))
	}
	return err
}

// awaitContinue returns the status that comes before the body was sent, or 0 if none comes in time.
func awaitContinue(ctx context.Context, s *stream) (int, error) {
	awaited := s.SetReadDeadline(time.Now().Add(pause))
	if _, err := s.reader.Peek(1); err != nil || awaited != nil {
		if ctx.Err() != nil {
			return 0, errDeadline
		}
		return 0, s.SetReadDeadline(time.Now().Add(timeout))
	}
	if err := s.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(s.reader, nil) //nolint:bodyclose // it ends with the connection
	if err != nil {
		return 0, nil //nolint:nilerr // the next read returns it
	}
	return response.StatusCode, nil
}

func decideExpect(status int, o outcome) Fact {
	const name, sent = "body.expect", "Expect: 100-continue"
	const meaning = "who asks for a body that a client announces: the Echo, the way by itself, or nobody, for which clients wait a second"
	e := o.echoed()
	switch {
	case e == nil:
		return refusedFact(name, sent, o.refusal, meaning)
	case status == 0:
		return newFact(name, "not answered", sent, "the request, and no response before the body", meaning)
	case e.has("Expect"):
		return newFact(name, kept, sent, sent, meaning)
	}
	return newFact(name, "answered by way", sent, "the request without Expect", meaning)
}

// examineRange asks for a range of a description, of which the Echo serves no ranges, and then of something of which it does.
func examineRange(ctx context.Context, g *group) error {
	const all = "bytes=0-999999"
	o, err := g.ask(ctx, &request{path: plainPath + "/range", fields: []field{{"Range", all}}})
	if err != nil {
		return err
	}
	first := decideRange(all, o)
	if first.Value != kept || !g.known.controls {
		g.add(first)
		return nil
	}
	const some = "bytes=10-19"
	o, err = g.ask(ctx, &request{path: plainPath + "/range?echo.size=100", fields: []field{{"Range", some}}})
	if err != nil {
		return err
	}
	if o.answer == nil || o.status != http.StatusPartialContent || o.size != 10 {
		first = newFact(first.Name, changed, "Range: "+some, "a response without a range", first.Meaning)
	}
	g.add(first)
	return nil
}

func decideRange(sent string, o outcome) Fact {
	const name, meaning = "body.range", "who serves ranges of a response: the Echo, the way from a whole response (as caches do), or nobody"
	text := "Range: " + sent
	switch {
	case o.refusal != "":
		return refusedFact(name, text, o.refusal, meaning)
	case o.status == http.StatusPartialContent:
		return newFact(name, "served by way", text, "no Range", meaning)
	case o.echo != nil && strings.Join(o.echo.values("Range"), "") == sent:
		return newFact(name, kept, text, text, meaning)
	}
	return newFact(name, dropped, text, "no Range", meaning)
}
