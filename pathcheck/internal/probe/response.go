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

// ExamineResponse examines how responses arrive: their headers, streams, and statuses, and whether proxies compress or cache them.
func ExamineResponse(ctx context.Context, g *Group) error {
	if err := g.Each(ctx, examineResponseHeaders, examineEvents, examineStatuses); err != nil {
		return err
	}
	path := PlainPath
	if g.Known.Controls {
		path += "?echo.size=32768&echo.status=200" // proxies do not compress short responses and some errors
	}
	compressed := &wire.Request{Path: path, Fields: wire.Fields("Accept-Encoding", "gzip, br, zstd")}
	if err := g.Examine(ctx, compressed, decideCompression); err != nil {
		return err
	}
	if !g.Known.Full {
		g.Skip("response.earlyHints", "requests can make the Echo send status 103 only with spec.server.controls: Full")
	} else if err := g.Examine(ctx, &wire.Request{Path: PlainPath + "?echo.early-hints=true"}, decideEarlyHints); err != nil {
		return err
	}
	// A cache responds to the second of two requests with the first response, which contains the proof for the first request.
	path = PlainPath + "/cache/" + wire.NewNonce()
	if _, err := g.Ask(ctx, &wire.Request{Path: path}); err != nil {
		return err
	}
	return g.Examine(ctx, &wire.Request{Path: path}, decideCaching)
}

// testHeader is a header that a request asks the Echo to add to the response.
const testHeader = "X-Test-Pathcheck"

func examineResponseHeaders(ctx context.Context, g *Group) error {
	path := PlainPath
	want := wire.Fields( // every response from an Echo has these headers; an empty value stands for any value
		"Content-Type", "", "Cache-Control", "", "Vary", "", "Date", "", "X-Content-Type-Options", "nosniff",
		"Content-Security-Policy", "default-src 'none'; sandbox")
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
		g.Add(refusedFact("response.headers.removed", path, o.Refusal))
		return nil
	}
	if o.Size == 0 { // the Echo's own status may not allow a body
		want = wire.Without(want, wire.Fields("Content-Type", ""))
	}
	g.Add(decideResponseHeaders(want, o.Header)...)
	return nil
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
		NewFact("response.headers.removed", listed(lost), "", describeLost(lost)),
		NewFact("response.headers.added", listed(added), "", received),
		NewFact("response.headers.changed", listed(other), "", received),
	}
}

// events is how many events or messages are read from a stream. The Echo sends one per second.
const events = 3

// examineEvents reads an event stream.
func examineEvents(ctx context.Context, g *Group) error {
	s, err := g.Open(ctx, &wire.Request{Path: "/-/sse", Fields: wire.Fields("Accept", "text/event-stream")})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the stream does not end on its own
	if err := s.SetReadDeadline(time.Now().Add(events * 2 * time.Second)); err != nil {
		return err
	}
	response, a, err := g.ReadHeader(s) //nolint:bodyclose // the body ends with the connection
	if err != nil {
		if wire.RefusalOf(err) == "time out" && ctx.Err() == nil {
			g.Add(decideEvents(nil))
			return g.Confirm(ctx)
		}
		_, err = g.Outcome(ctx, nil, err)
		return err
	}
	if o, err := g.Outcome(ctx, a, nil); err != nil || o.Refusal != "" {
		if o.Refusal != "" {
			g.Add(refusedFact("response.stream", "GET /-/sse", o.Refusal))
		}
		return err
	}
	arrivals, err := readUntil(response.Body, s.Began, readEvent)
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
	case len(arrivals) < events || arrivals[events-1]-arrivals[0] < time.Second:
		return NewFact(name, "buffered", sent, received)
	}
	return NewFact(name, "streamed", sent, received)
}

// readUntil reads until all events have arrived or reading fails, and returns the arrival time of each event.
func readUntil(body io.Reader, began time.Time, read func(io.Reader) error) (arrivals []time.Duration, err error) {
	for len(arrivals) < events {
		if err := read(body); err != nil {
			return arrivals, err
		}
		arrivals = append(arrivals, time.Since(began))
	}
	return arrivals, nil
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
		value = "replaced " + shortList(replaced, maxList-len("replaced "))
	}
	return NewFact("response.status", value, strings.Join(sent, " "), strings.Join(received, " "))
}

func decideCompression(o Outcome) Fact {
	const name, sent = "response.compression", "a text response to Accept-Encoding: gzip, br, zstd"
	if o.Refusal != "" {
		return refusedFact(name, sent, o.Refusal)
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

func decideEarlyHints(o Outcome) Fact {
	const name, sent = "response.earlyHints", "103, then 200"
	switch {
	case o.Refusal != "":
		return refusedFact(name, sent, o.Refusal)
	case slices.Contains(o.Interim, http.StatusEarlyHints):
		return NewFact(name, Kept, sent, sent)
	}
	return NewFact(name, Dropped, sent, strconv.Itoa(o.Status))
}

func decideCaching(second Outcome) Fact {
	const name, sent = "response.cached", "the same request twice"
	switch {
	case second.Refusal == refusedByCache:
		return NewFact(name, Yes, sent, "the first response again")
	case second.Refusal != "":
		return refusedFact(name, sent, second.Refusal)
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
	return NewFact(name, took.Round(time.Second).String(), sent, describeRefusal(o.Refusal))
}
