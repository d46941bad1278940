package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineResponse examines how responses arrive: their headers, streams, and statuses, and whether proxies compress or cache them.
func ExamineResponse(ctx context.Context, g *Group) error {
	parts := []part{examineResponseHeaders, examineEvents, examineStatuses, examineCompression, examineCaching}
	if g.Known.Full {
		parts = append(parts, examineEarlyHints)
	} else {
		g.Skip("response.earlyHints", "requests can make the Echo send status 103 only with spec.server.controls: Full")
	}
	return g.Each(ctx, parts...)
}

// testHeader is a header that a request asks the Echo to add to the response.
const testHeader = "X-Test-Pathcheck"

// examineResponseHeaders compares the header of a response with the fields that the Echo has signed.
func examineResponseHeaders(ctx context.Context, g *Group) error {
	path := PlainPath
	if g.Known.Controls {
		path += "?echo.set-header=" + testHeader + ":1&echo.set-header=Retry-After:7"
	}
	x := experiment{fact: "response.headers", sent: path,
		probe: func() *wire.Request { return &wire.Request{Path: path} },
		read: func(o Outcome) (string, string) {
			var values []string
			for _, each := range decideResponseHeaders(o.Claims.Fields, o.Header) {
				values = append(values, each.Value)
			}
			return strings.Join(values, "; "), ""
		},
		refused: func(o Outcome) (string, string) { return "", "the request is refused: " + describeRefusal(o.Refusal) }}
	r, err := g.perform(ctx, x)
	if err != nil {
		return err
	}
	if r.value != "" {
		g.Add(decideResponseHeaders(r.outcome.Claims.Fields, r.outcome.Header)...)
		return nil
	}
	for _, each := range decideResponseHeaders(nil, nil) {
		g.Unknown(each.Name, r.received)
	}
	return nil
}

func decideResponseHeaders(signed map[string]string, header http.Header) []Fact {
	var lost, other, added, changes, additions []string
	for name, digest := range signed {
		switch received := header.Values(name); {
		case len(received) == 0:
			lost = append(lost, name)
		case proof.FieldDigest(received) != digest:
			other = append(other, name)
			changes = append(changes, name+": "+strings.Join(received, ", "))
		}
	}
	unsigned := []string{"Date", "Content-Length", "Connection", "Transfer-Encoding", "Keep-Alive", proof.ResponseHeader}
	for name, values := range header {
		if _, ok := signed[name]; !ok && !slices.Contains(unsigned, name) {
			added = append(added, name)
			additions = append(additions, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(lost)
	slices.Sort(changes)
	slices.Sort(additions)
	return []Fact{
		NewFact("response.headers.removed", listed(lost), "", describeLost(lost)),
		NewFact("response.headers.added", listed(added), "", strings.Join(additions, "; ")),
		NewFact("response.headers.changed", listed(other), "", strings.Join(changes, "; ")),
	}
}

// events is how many events or messages are read from a stream. The Echo sends one per second.
const events = 3

// examineEvents reads event streams, without and with compression.
func examineEvents(ctx context.Context, g *Group) error {
	const name, sent = "response.stream", "one event per second, without and with Accept-Encoding: gzip"
	codings := []string{"identity", "gzip"}
	results, err := g.together(ctx, len(codings), func(i int) experiment {
		return experiment{fact: name, sent: sent,
			probe: func() *wire.Request {
				return &wire.Request{Path: "/-/sse", Fields: wire.Fields("Accept", "text/event-stream", "Accept-Encoding", codings[i])}
			},
			send: g.readEvents,
			read: func(o Outcome) (string, string) { return decideArrivals(o.Arrivals, o.Header.Get("Content-Encoding")) },
			refused: func(o Outcome) (string, string) {
				if o.Refusal == wire.TimedOut {
					return "buffered", "nothing in time"
				}
				f := refusedFact(name, sent, o.Refusal)
				return f.Value, f.Received
			}}
	})
	if err != nil {
		return err
	}
	r := results[0]
	if r.value == "streamed" && results[1].value != "streamed" {
		if r = results[1]; r.value == "buffered" {
			r.value = "buffered if compressed"
		}
	}
	g.conclude(experiment{fact: name, sent: sent}, r)
	return nil
}

// readEvents reads the beginning of an event stream, which does not end on its own.
func (g *Group) readEvents(ctx context.Context, r *wire.Request) (*wire.Response, error) {
	r.Timeout = events * 2 * time.Second
	s, err := g.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	response, a, err := g.ReadHeader(s) //nolint:bodyclose // the body ends with the connection
	if err != nil || !a.Proven {
		return a, err
	}
	read := readEvent
	if a.Header.Get("Content-Encoding") != "" { // events are not readable, but pieces arrive at the same times
		read = func(r io.Reader) error { _, err := r.Read(make([]byte, wire.MaxBody)); return err }
	}
	a.Arrivals, err = readUntil(response.Body, s.Began, read)
	if ended := over(ctx, err); ended != nil {
		return nil, ended
	}
	return a, nil
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

// decideArrivals compares the arrival times of events that were sent one second apart.
func decideArrivals(arrivals []time.Duration, coding string) (value, received string) {
	var texts []string
	for _, each := range arrivals {
		texts = append(texts, each.Round(100*time.Millisecond).String())
	}
	received = "events after " + strings.Join(texts, ", ")
	if coding != "" {
		received = coding + ", " + received
	}
	switch {
	case len(arrivals) == 0:
		return "buffered", "nothing in time"
	case len(arrivals) < events || arrivals[events-1]-arrivals[0] < time.Second:
		return "buffered", received
	}
	return "streamed", received
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

// examineStatuses requests responses with several status codes, one after another so that proxies do not stop using the pods.
func examineStatuses(ctx context.Context, g *Group) error {
	const name = "response.status"
	if reason := Controls(g.Known); reason != "" {
		g.Skip(name, reason)
		return nil
	}
	var sent, received, replaced []string
	for _, status := range []int{201, 204, 400, 401, 403, 404, 418, 422, 429, 500, 502, 503, 504} {
		text := strconv.Itoa(status)
		r, err := g.perform(ctx, experiment{once: true,
			probe:   func() *wire.Request { return &wire.Request{Path: PlainPath + "?echo.status=" + text} },
			read:    func(o Outcome) (string, string) { return decideStatus(o, g.Known.Plain.Changed) },
			refused: func(o Outcome) (string, string) { return "replaced", o.Refusal + " from a proxy" }})
		if err == nil && r.value == "replaced" && !r.outcome.Arrived() {
			var arrivals record
			if arrivals, err = g.lookUp(ctx, r.outcome.nonce); arrivals.count == 0 {
				r = result{received: "no such request arrives"}
			}
		}
		switch {
		case err != nil:
			return err
		case r.value == "":
			g.Unknown(name, text+": "+r.received)
			return nil
		case r.value == Kept:
			received = append(received, text)
		default:
			replaced = append(replaced, text)
			received = append(received, text+": "+r.received)
		}
		sent = append(sent, text)
	}
	value := Kept
	if len(replaced) > 0 {
		value = "replaced " + shortList(replaced, maxList-len("replaced "))
	}
	g.Add(NewFact(name, value, strings.Join(sent, " "), strings.Join(received, " ")))
	return nil
}

func decideStatus(o Outcome, alwaysChanged bool) (value, received string) {
	switch {
	case o.Status != o.Claims.Status:
		return "replaced", strconv.Itoa(o.Status)
	case o.Changed && !alwaysChanged:
		return "replaced", "another body"
	}
	return Kept, ""
}

// examineCompression requests responses of several types, because proxies compress only some, and no short ones.
func examineCompression(ctx context.Context, g *Group) error {
	const name, sent = "response.compression", "responses to Accept-Encoding: gzip, br, zstd: "
	accepted := map[string]string{"json": "application/json", "html": "text/html", "events": "text/event-stream"}
	paths := map[string]string{"json": PlainPath, "html": PlainPath, "events": "/-/sse"}
	if g.Known.Controls {
		for _, kind := range []string{"json", "html"} {
			paths[kind] += "?echo.status=200" // proxies do not compress some errors
		}
		accepted["text"], paths["text"] = "text/plain", PlainPath+"?echo.size=32768&echo.status=200"
	}
	kinds := slices.Sorted(maps.Keys(paths))
	results, err := g.together(ctx, len(kinds), func(i int) experiment {
		return experiment{send: g.readHeader, large: true,
			probe: func() *wire.Request {
				return &wire.Request{Path: paths[kinds[i]], Timeout: events * time.Second, Fields: wire.Fields("Accept", accepted[kinds[i]], "Accept-Encoding", "gzip, br, zstd",
					"X-Pathcheck-Size", strings.Repeat("x", 1<<10))}
			},
			read: func(o Outcome) (string, string) {
				value := cmp.Or(o.Header.Get("Content-Encoding"), None)
				if !slices.Contains([]string{None, "gzip", "br", "zstd"}, value) {
					value = "another"
				}
				return value, o.Header.Get("Content-Type") + ": " + value
			}}
	})
	if err != nil {
		return err
	}
	values, codings, received := []string{}, []string{}, []string{}
	for i, each := range results {
		isUnknown := each.value == "" || strings.HasPrefix(each.value, "refused")
		switch {
		case kinds[i] == "events" && (isUnknown || each.value == None): // few proxies compress events; response.stream reports a refusal
			continue
		case isUnknown:
			g.conclude(experiment{fact: name, sent: sent + kinds[i]}, each)
			return nil
		}
		codings = append(codings, each.value)
		received = append(received, each.received)
		if each.value != None {
			values = append(values, kinds[i]+": "+each.value)
		}
	}
	value := strings.Join(values, ", ")
	if codings = slices.Compact(codings); len(codings) == 1 {
		value = codings[0]
	}
	g.Add(NewFact(name, value, sent+strings.Join(kinds, ", "), strings.Join(received, "; ")))
	return nil
}

// readHeader reads only the header of a response.
func (g *Group) readHeader(ctx context.Context, r *wire.Request) (*wire.Response, error) {
	s, err := g.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // the body does not matter
	_, a, err := g.ReadHeader(s)     //nolint:bodyclose // the body ends with the connection
	return a, err
}

func examineEarlyHints(ctx context.Context, g *Group) error {
	return g.find(ctx, experiment{fact: "response.earlyHints", sent: "103, then 200",
		probe: func() *wire.Request { return &wire.Request{Path: PlainPath + "?echo.early-hints=true"} },
		read: func(o Outcome) (string, string) {
			if slices.Contains(o.Interim, http.StatusEarlyHints) {
				return Kept, "103, then " + strconv.Itoa(o.Status)
			}
			return Dropped, strconv.Itoa(o.Status)
		}})
}

// examineCaching sends requests twice. A cache responds to the second one with the first response, which contains the proof for the first
// request.
func examineCaching(ctx context.Context, g *Group) error {
	const name = "response.cached"
	return g.find(ctx, experiment{fact: name, sent: "the same request twice", caches: true, requests: 2,
		probe: func() *wire.Request { return &wire.Request{Path: PlainPath + "/cache/" + wire.NewNonce()} },
		send: func(ctx context.Context, r *wire.Request) (*wire.Response, error) {
			if a, err := g.Do(ctx, r); err != nil || !a.Proven {
				return a, err
			}
			if err := g.Engine.await(ctx); err != nil {
				return nil, err
			}
			return g.Do(ctx, &wire.Request{Path: r.Path})
		},
		read: func(Outcome) (string, string) { return No, "two responses from the Echo" },
		refused: func(o Outcome) (string, string) {
			if o.Refusal == refusedByCache {
				return Yes, "the first response again"
			}
			f := refusedFact(name, "", o.Refusal)
			return f.Value, f.Received
		}})
}

// ExamineTimeouts requests responses with the longest delay that the Echo supports.
func ExamineTimeouts(ctx context.Context, g *Group) error {
	const name, delay = "timeouts.response", 30 * time.Second
	path := PlainPath + "?echo.delay="
	allowed, err := g.perform(ctx, experiment{once: true,
		probe: func() *wire.Request { return &wire.Request{Path: path + "1ms"} },
		read:  func(Outcome) (string, string) { return Yes, "" },
		refused: func(o Outcome) (string, string) {
			return "", "requests with a short delay are refused, too: " + describeRefusal(o.Refusal)
		}})
	if err != nil || allowed.value == "" {
		if err == nil {
			g.Unknown(name, allowed.received)
		}
		return err
	}
	return g.examineTimeout(ctx, name, path+delay.String(), delay)
}

// examineTimeout sends requests for a late response at the same time. A proxy that sends them again multiplies the time.
func (g *Group) examineTimeout(ctx context.Context, name, path string, delay time.Duration) error {
	sent := "requests for a response after " + delay.String()
	count := 1
	for {
		requests, outcomes, took := make([]*wire.Request, count), make([]Outcome, count), make([]time.Duration, count)
		all, each := errgroup.WithContext(ctx)
		for i := range count {
			all.Go(func() (err error) {
				requests[i] = &wire.Request{Path: path, Timeout: delay + wire.Timeout, Nonce: wire.NewNonce()}
				outcomes[i], err = g.ask(each, g.Do, requests[i])
				took[i] = time.Since(requests[i].Sent) - g.Known.Plain.Took
				return err
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
		for _, o := range outcomes {
			if o.Arrived() {
				g.Add(NewFact(name, ">"+delay.String(), sent, "the response"))
				return nil
			}
		}
		needed := g.Engine.needed(1)
		switch {
		case needed > maxPairs:
			g.Unknown(name, "errors")
			return nil
		case count < needed:
			count = needed
			continue
		}
		slices.Sort(took)
		arrivals, err := g.lookUp(ctx, requests[0].Nonce)
		if err != nil {
			return err
		}
		attempts := max(1, arrivals.count)
		one := took[len(took)/2] / time.Duration(attempts)
		switch {
		case !arrivals.exact:
			g.Unknown(name, arrivals.reason)
		case took[len(took)-1] > took[0]+max(2*time.Second, took[0]/4):
			g.Unknown(name, fmt.Sprintf("responses differ: after %s to %s", took[0].Round(time.Second), took[len(took)-1].Round(time.Second)))
		default:
			g.Add(NewFact(name, one.Round(time.Second).String(), sent,
				fmt.Sprintf("%s after %d attempts", describeRefusal(outcomes[0].Refusal), attempts)))
		}
		return nil
	}
}
