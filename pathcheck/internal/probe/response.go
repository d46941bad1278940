// Package responses examines what a client receives (responses, streams, WebSockets, and gRPC calls), and how proxies balance and retry
// requests.
package probe

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

func ExamineResponse(ctx context.Context, g *Group) error {
	return g.Each(ctx, examineResponseHeaders, examineEvents, examineStatuses, examineCompression, examineEarlyHints, examineCaching)
}

// testHeader is a header that a request asks the Echo to add to the response.
const testHeader = "X-Test-Pathcheck"

func examineResponseHeaders(ctx context.Context, g *Group) error {
	path, want := PlainPath, echoHeaders()
	if g.Known.Controls {
		path += "?echo.set-header=" + testHeader + ":1"
		expected := wire.Fields(testHeader, "1", "Cache-Control", "no-store") // an Echo lets caches store only responses without controls
		want = append(wire.Without(want, expected), expected...)
	}
	o, err := g.Ask(ctx, &wire.Request{Path: path})
	if err != nil {
		return err
	}
	if o.Refusal != "" {
		g.Add(Refused("response.headers.removed", path, o.Refusal))
		return nil
	}
	if o.Size == 0 { // the Echo's own status may not allow a body
		want = wire.Without(want, wire.Fields("Content-Type", ""))
	}
	g.Add(decideResponseHeaders(want, o.Header)...)
	return nil
}

// echoHeaders returns the headers that every response from an Echo has. An empty value stands for any value.
func echoHeaders() []wire.Field {
	return wire.Fields("Content-Type", "", "Cache-Control", "", "Vary", "", "Date", "", "X-Content-Type-Options", "nosniff",
		"Content-Security-Policy", "default-src 'none'; sandbox")
}

func decideResponseHeaders(want []wire.Field, header http.Header) []Fact {
	known := []string{"Content-Length", "Connection", "Transfer-Encoding", "X-Echo-Applied", proof.ResponseHeader}
	var lost, other, added, texts []string
	for _, each := range want {
		known = append(known, each.Name)
		switch received := header.Values(each.Name); {
		case len(received) == 0:
			lost = append(lost, each.Name)
		case each.Value != "" && !slices.Equal(received, []string{each.Value}):
			other = append(other, each.Name)
			texts = append(texts, each.Name+": "+strings.Join(received, ", "))
		}
	}
	for name, values := range header {
		if !slices.Contains(known, name) {
			added = append(added, name)
			texts = append(texts, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(texts)
	received := strings.Join(texts, "; ")
	return []Fact{
		NewFact("response.headers.removed", Listed(lost), "", DescribeLost(lost)),
		NewFact("response.headers.added", Listed(added), "", received),
		NewFact("response.headers.changed", Listed(other), "", received),
	}
}

// examineStatuses requests responses with several status codes. It requests few server errors, so that proxies do not stop using the pods.
func examineStatuses(ctx context.Context, g *Group) error {
	if reason := Controls(g.Known); reason != "" {
		g.Skip("response.status", reason)
		return nil
	}
	outcomes := map[int]Outcome{}
	for _, status := range []int{201, 204, 400, 404, 429, 500, 418, 503} {
		o, err := g.Ask(ctx, &wire.Request{Path: PlainPath + "?echo.status=" + strconv.Itoa(status)})
		if err != nil {
			return err
		}
		outcomes[status] = o
	}
	g.Add(decideStatuses(outcomes))
	return nil
}

// decideStatuses determines which status codes proxies replace.
func decideStatuses(outcomes map[int]Outcome) Fact {
	var sent, received, replaced []string
	for status, o := range outcomes {
		text := strconv.Itoa(status)
		sent = append(sent, text)
		switch {
		case o.Refusal != "":
			replaced = append(replaced, text)
			received = append(received, text+": "+o.Refusal+" from a proxy")
		case o.Status != status:
			replaced = append(replaced, text)
			received = append(received, text+": "+strconv.Itoa(o.Status))
		default:
			received = append(received, text)
		}
	}
	slices.Sort(sent)
	slices.Sort(received)
	value := Kept
	if len(replaced) > 0 {
		value = "replaced " + ShortList(replaced, MaxValue-len("replaced "))
	}
	return NewFact("response.status", value, strings.Join(sent, " "), strings.Join(received, " "))
}

func examineCompression(ctx context.Context, g *Group) error {
	path := PlainPath
	if g.Known.Controls {
		path += "?echo.size=32768&echo.status=200" // proxies do not compress short responses and some errors
	}
	return g.Examine(ctx, &wire.Request{Path: path, Fields: wire.Fields("Accept-Encoding", "gzip, br, zstd")}, decideCompression)
}

func decideCompression(o Outcome) Fact {
	const name, sent = "response.compression", "a text response to Accept-Encoding: gzip, br, zstd"
	if o.Refusal != "" {
		return Refused(name, sent, o.Refusal)
	}
	value := o.Header.Get("Content-Encoding")
	received := "Content-Encoding: " + cmp.Or(value, None)
	switch value {
	case "gzip", "br", "zstd":
		return NewFact(name, value, sent, received)
	case "":
		return NewFact(name, None, sent, received)
	}
	return NewFact(name, "another", sent, received)
}

func examineEarlyHints(ctx context.Context, g *Group) error {
	if !g.Known.Full {
		g.Skip("response.earlyHints", "requests can make the Echo send status 103 only with spec.server.controls: Full")
		return nil
	}
	return g.Examine(ctx, &wire.Request{Path: PlainPath + "?echo.early-hints=true"}, decideEarlyHints)
}

func decideEarlyHints(o Outcome) Fact {
	const name, sent = "response.earlyHints", "103, then 200"
	switch {
	case o.Refusal != "":
		return Refused(name, sent, o.Refusal)
	case slices.Contains(o.Interim, http.StatusEarlyHints):
		return NewFact(name, Kept, sent, sent)
	}
	return NewFact(name, Dropped, sent, strconv.Itoa(o.Status))
}

// examineCaching sends a request twice. A cache responds to the second request with the first response, which contains the proof for the
// first request.
func examineCaching(ctx context.Context, g *Group) error {
	path := PlainPath + "/cache/" + wire.NewNonce()
	if _, err := g.Ask(ctx, &wire.Request{Path: path}); err != nil {
		return err
	}
	return g.Examine(ctx, &wire.Request{Path: path}, decideCaching)
}

func decideCaching(second Outcome) Fact {
	const name, sent = "response.cached", "the same request twice"
	switch {
	case second.Refusal == RefusedByCache:
		return NewFact(name, Yes, sent, "the first response again")
	case second.Refusal != "":
		return Refused(name, sent, second.Refusal)
	}
	return NewFact(name, No, sent, "two responses from the Echo")
}

// ExamineTimeouts requests a response with the longest delay that the Echo supports.
func ExamineTimeouts(ctx context.Context, g *Group) error {
	const delay = 30 * time.Second
	began := time.Now()
	return g.Examine(ctx, &wire.Request{Path: PlainPath + "?echo.delay=" + delay.String(), Timeout: delay + wire.Timeout},
		func(o Outcome) Fact { return decideTimeout(time.Since(began), delay, o) })
}

func decideTimeout(took, delay time.Duration, o Outcome) Fact {
	const name = "timeouts.response"
	sent := "a request for a response after " + delay.String()
	if o.Refusal == "" {
		return NewFact(name, ">"+delay.String(), sent, "the response")
	}
	return NewFact(name, took.Round(time.Second).String(), sent, DescribeRefusal(o.Refusal))
}

// examineEvents reads an event stream. The Echo sends one event per second.
func examineEvents(ctx context.Context, g *Group) error {
	const enough = 3
	s, err := g.Open(ctx, &wire.Request{Path: "/-/sse", Fields: wire.Fields("Accept", "text/event-stream")})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the stream does not end on its own
	if err := s.SetReadDeadline(time.Now().Add(enough * 2 * time.Second)); err != nil {
		return err
	}
	response, interim, err := s.ReadHeader() //nolint:bodyclose // the body ends with the connection
	if err != nil {
		if wire.RefusalOf(err) == "time out" && ctx.Err() == nil {
			g.Add(decideEvents(nil))
			return g.Confirm(ctx)
		}
		_, err = g.Outcome(ctx, nil, err)
		return err
	}
	a := s.NewResponse(response, interim)
	g.Judge(a, s.Nonce)
	if o, err := g.Outcome(ctx, a, nil); err != nil || o.Refusal != "" {
		if o.Refusal != "" {
			g.Add(Refused("response.stream", "GET /-/sse", o.Refusal))
		}
		return err
	}
	arrivals, err := readUntil(response.Body, enough, s.Began, readEvent)
	if ended := g.Interrupted(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideEvents(arrivals))
	return nil
}

// readEvent reads an event, which ends with an empty line.
func readEvent(r io.Reader) error {
	var last, each [1]byte
	for range wire.MaxBody {
		if _, err := io.ReadFull(r, each[:]); err != nil {
			return err
		}
		if each[0] == '\n' && last[0] == '\n' {
			return nil
		}
		last = each
	}
	return errors.New("the event is too long")
}

// decideEvents compares the arrival times of events that were sent one second apart.
func decideEvents(arrivals []time.Duration) Fact {
	const name, sent = "response.stream", "one event per second"
	var texts []string
	for _, each := range arrivals {
		texts = append(texts, each.Round(100*time.Millisecond).String())
	}
	received := "events after " + strings.Join(texts, ", ")
	switch {
	case len(arrivals) == 0:
		return NewFact(name, "buffered", sent, "nothing in time")
	case len(arrivals) < 3 || arrivals[2]-arrivals[0] < time.Second:
		return NewFact(name, "buffered", sent, received)
	}
	return NewFact(name, "streamed", sent, received)
}

// readUntil reads until enough pieces have arrived or reading fails, and returns the arrival time of each piece.
func readUntil(body io.Reader, enough int, began time.Time, read func(io.Reader) error) (arrivals []time.Duration, err error) {
	for len(arrivals) < enough {
		if err := read(body); err != nil {
			return arrivals, err
		}
		arrivals = append(arrivals, time.Since(began))
	}
	return arrivals, nil
}
