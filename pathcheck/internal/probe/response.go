package probe

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
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
	parts := []part{examineResponseHeaders, examineEvents, examineStatuses, examineCompression, examineCaching}
	if g.Known.Full {
		parts = append(parts, examineEarlyHints)
	} else {
		g.Skip("response.earlyHints", "requests can make the Echo send status 103 only with spec.server.controls: Full")
	}
	return g.Each(ctx, parts...)
}

// examineResponseHeaders compares the header of a response with the fields that the Echo has signed.
func examineResponseHeaders(ctx context.Context, g *Group) error {
	path := PlainPath
	if g.Known.Controls {
		path += "?echo.set-header=X-Test-Pathcheck:1&echo.set-header=Retry-After:7"
	}
	return g.findAll(ctx, experiment{sent: "the request", probe: wire.Request{Path: path}}, func(o Outcome) []Fact {
		if !o.Arrived() {
			return nil
		}
		return decideResponseHeaders(o.Claims.Fields, o.Header)
	})
}

func decideResponseHeaders(signed map[string]string, header http.Header) []Fact {
	var lost, changed, added []string
	for name, digest := range signed {
		switch received := header.Values(name); {
		case len(received) == 0:
			lost = append(lost, name)
		case proof.FieldDigest(received) != digest:
			changed = append(changed, name)
		}
	}
	unsigned := []string{"Date", "Content-Length", "Connection", "Transfer-Encoding", "Keep-Alive", proof.ResponseHeader}
	for name := range header {
		if _, ok := signed[name]; !ok && !slices.Contains(unsigned, name) {
			added = append(added, name)
		}
	}
	slices.Sort(lost)
	return []Fact{
		NewFact("response.headers.removed", listed(lost), "", describeLost(lost)),
		NewFact("response.headers.added", listed(added), "", describeHeaders(added, header)),
		NewFact("response.headers.changed", listed(changed), "", describeHeaders(changed, header)),
	}
}

// events is how many events or messages are read from a stream. The Echo sends one per second.
const events = 3

// examineEvents reads event streams, without and with compression.
func examineEvents(ctx context.Context, g *Group) error {
	const name = "response.stream"
	if reason := Routes(g.Known); reason != "" {
		g.Skip(name, reason)
		return nil
	}
	results, err := together(ctx, g, []string{"identity", "gzip"}, func(coding string) experiment {
		return experiment{send: g.onStream(g.readEvents),
			probe: wire.Request{Path: "/-/sse", Timeout: events * 2 * time.Second,
				Fields: wire.Fields("Accept", eventStream, "Accept-Encoding", coding)},
			read: func(o Outcome) (string, string) {
				coding, sent := o.Header.Get("Content-Encoding"), events
				switch {
				case !hasType(o.Response, eventStream):
					return "", fmt.Sprintf("the Echo sends no events, but status %d", o.Claims.Status)
				case o.Ended && (len(o.Arrivals) < 2 || coding != ""): // the end may flush what a proxy has buffered
					return "", "the stream ends too early"
				case o.Ended:
					sent = len(o.Arrivals)
				}
				return decideArrivals(o.Arrivals, coding, sent)
			},
			refused: func(o Outcome) (string, string) {
				if o.Refusal == wire.TimedOut {
					return "buffered", "nothing in time"
				}
				return refusedBy(o)
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
	return g.conclude(experiment{fact: name, sent: "one event per second, without and with Accept-Encoding: gzip"}, r, nil)
}

// readEvents reads the beginning of an event stream, which does not end on its own.
func (g *Group) readEvents(ctx context.Context, s *wire.Stream) (*wire.Response, error) {
	response, a, err := g.ReadHeader(s) //nolint:bodyclose // the body ends with the connection
	if err != nil || !a.Proven || !hasType(a, eventStream) {
		return a, err
	}
	body := bufio.NewReader(response.Body)
	read := func() error { // an event ends with an empty line
		for {
			if line, err := body.ReadString('\n'); err != nil || line == "\n" {
				return err
			}
		}
	}
	if a.Header.Get("Content-Encoding") != "" { // events are not readable, but pieces arrive at the same times
		read = func() error { _, err := response.Body.Read(make([]byte, wire.MaxBody)); return err }
	}
	a.Arrivals, err = readUntil(s.Began, read)
	a.Ended = err != nil && wire.RefusalOf(err) != wire.TimedOut
	return a, over(ctx, err)
}

const eventStream = "text/event-stream"

// hasType reports whether the Echo sent a response with a media type, as far as known.
func hasType(a *wire.Response, mediaType string) bool {
	return a.Claims.Fields == nil || a.Claims.Fields["Content-Type"] == proof.FieldDigest([]string{mediaType})
}

// decideArrivals compares the arrival times of events that were sent one second apart.
func decideArrivals(arrivals []time.Duration, coding string, sent int) (value, received string) {
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
	case len(arrivals) < sent || arrivals[sent-1]-arrivals[0] < time.Duration(sent-1)*time.Second/2:
		return "buffered", received
	}
	return "streamed", received
}

// readUntil reads until all events have arrived or reading fails, and returns the arrival time of each event.
func readUntil(began time.Time, read func() error) (arrivals []time.Duration, err error) {
	for len(arrivals) < events {
		if err := read(); err != nil {
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
	statuses := strings.Fields("201 204 400 401 403 404 418 422 429 500 502 503 504")
	var results []result
	for _, status := range statuses {
		r, err := g.perform(ctx, experiment{once: true, probe: wire.Request{Path: PlainPath + "?echo.status=" + status},
			read:    func(o Outcome) (string, string) { return decideStatus(o, status, g.Known.Plain.Changed) },
			refused: func(o Outcome) (string, string) { return "replaced", o.Refusal + " from a proxy" }})
		if err == nil && r.value == "replaced" && !r.outcome.Arrived() {
			count, notExact, failed := g.lookUp(ctx, r.outcome.nonce)
			if err = failed; count == 0 {
				r = result{received: cmp.Or(notExact, "no such request arrives")}
			}
		}
		if err != nil {
			return err
		}
		if results = append(results, r); r.value == "" {
			break
		}
	}
	g.concludeEach(name, statuses, results)
	return nil
}

func decideStatus(o Outcome, status string, alwaysChanged bool) (value, received string) {
	switch {
	case strconv.Itoa(o.Claims.Status) != status:
		return "", fmt.Sprintf("the Echo sends %d", o.Claims.Status)
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
	types := map[string]string{"json": "application/json", "html": "text/html", "events": eventStream}
	paths := map[string]string{"json": PlainPath, "html": PlainPath, "events": "/-/sse"}
	if ok := "?echo.status=200"; g.Known.Controls { // proxies do not compress some errors
		paths["json"], paths["html"] = PlainPath+ok, PlainPath+ok
		types["text"], paths["text"] = "text/plain", PlainPath+ok+"&echo.size=32768"
	}
	if g.Known.unrouted != "" {
		delete(paths, "events")
	}
	kinds := slices.Sorted(maps.Keys(paths))
	read := func(o Outcome) (value, received string) {
		value = cmp.Or(o.Header.Get("Content-Encoding"), None)
		if !slices.Contains([]string{None, "gzip", "br", "zstd"}, value) {
			value = "another"
		}
		return value, o.Header.Get("Content-Type") + ": " + value
	}
	results, err := together(ctx, g, kinds, func(kind string) experiment {
		return experiment{large: true, read: read,
			probe: wire.Request{Path: paths[kind], Timeout: events * time.Second, Fields: wire.Fields("Accept", types[kind],
				"Accept-Encoding", "gzip, br, zstd", "X-Pathcheck-Size", strings.Repeat("x", 1<<10))},
			send: g.onStream(func(_ context.Context, s *wire.Stream) (*wire.Response, error) {
				_, a, err := g.ReadHeader(s) //nolint:bodyclose // the body, which does not matter, ends with the connection
				return a, err
			})}
	})
	if err != nil {
		return err
	}
	values, codings, received := []string{}, []string{}, []string{}
	for i, each := range results {
		isKnown := each.value != "" && each.outcome.Arrived()
		switch {
		case kinds[i] == "events" && (!isKnown || each.value == None): // few proxies compress events; response.stream reports a refusal
			continue
		case !isKnown:
			return g.conclude(experiment{fact: name, sent: sent + kinds[i]}, each, nil)
		case each.value != None:
			values = append(values, kinds[i]+": "+each.value)
		}
		codings, received = append(codings, each.value), append(received, each.received)
	}
	value := strings.Join(values, ", ")
	if codings = slices.Compact(codings); len(codings) == 1 {
		value = codings[0]
	}
	return g.conclude(experiment{fact: name, sent: sent + strings.Join(kinds, ", ")},
		result{value: value, received: strings.Join(received, "; ")}, nil)
}

func examineEarlyHints(ctx context.Context, g *Group) error {
	return g.find(ctx, experiment{fact: "response.earlyHints", sent: "103, then 200",
		probe: wire.Request{Path: PlainPath + "?echo.early-hints=true"},
		read: func(o Outcome) (string, string) {
			isKept := slices.Contains(o.Interim, http.StatusEarlyHints)
			return choose(isKept, Kept, Dropped), choose(isKept, "103, then ", "") + strconv.Itoa(o.Status)
		}})
}

// examineCaching repeats a request, because several caches may share the requests. A cache responds with an earlier response, which contains
// the proof for an earlier request.
func examineCaching(ctx context.Context, g *Group) error {
	const repetitions = 4
	return g.find(ctx, experiment{fact: "response.cached", sent: fmt.Sprintf("the same request %d times", repetitions), caches: true,
		requests: repetitions,
		send: func(ctx context.Context, r *wire.Request) (*wire.Response, error) {
			r.Path = PlainPath + "/cache/" + wire.NewNonce()
			for count := 1; ; count++ {
				a, err := g.Do(ctx, &wire.Request{Path: r.Path})
				if err != nil || !a.Proven || a.Cached || count == repetitions {
					return a, err
				}
				if err := g.Engine.await(ctx); err != nil {
					return nil, err
				}
			}
		},
		read: func(Outcome) (string, string) { return No, "different responses from the Echo" },
		refused: func(o Outcome) (string, string) {
			if o.Refusal == refusedByCache {
				return Yes, "an earlier response again"
			}
			return refusedBy(o)
		}})
}

// ExamineTimeouts requests responses with the longest delay that the Echo supports.
func ExamineTimeouts(ctx context.Context, g *Group) error {
	const name, delay = "timeouts.response", 30 * time.Second
	path := PlainPath + "?echo.delay="
	allowed, err := g.perform(ctx, experiment{once: true, probe: wire.Request{Path: path + "1ms"},
		read: func(Outcome) (string, string) { return Yes, "" },
		refused: func(o Outcome) (string, string) {
			return "", "requests with a short delay are refused, too: " + describeRefusal(o.Refusal)
		}})
	x := experiment{fact: name, sent: "requests for a response after " + delay.String(), once: true,
		read: func(o Outcome) (string, string) {
			if o.Took < delay-time.Second { // as of an Echo that stops or is busy
				return "", fmt.Sprintf("the Echo responds too early, with status %d", o.Status)
			}
			return ">" + delay.String(), "the response"
		}}
	if err != nil || allowed.value == "" {
		return g.conclude(x, allowed, err)
	}
	var took []time.Duration
	x.probe = wire.Request{Path: path + delay.String(), Timeout: delay + wire.Timeout}
	x.send = func(ctx context.Context, r *wire.Request) (*wire.Response, error) {
		a, err := g.Do(ctx, r)
		g.mutex.Lock()
		defer g.mutex.Unlock()
		took = append(took, time.Since(r.Sent)-g.Known.Plain.Took)
		return a, err
	}
	r, err := g.perform(ctx, x)
	if err == nil && r.value != "" && !r.outcome.Arrived() {
		slices.Sort(took)
		r, err = g.timeoutOf(ctx, r.outcome, took)
	}
	return g.conclude(x, r, err)
}

// timeoutOf returns how long a proxy waits, given how long several requests took. A proxy that sends them again multiplies the time.
func (g *Group) timeoutOf(ctx context.Context, o Outcome, took []time.Duration) (result, error) {
	count, notExact, err := g.lookUp(ctx, o.nonce)
	first, last, attempts := took[0], took[len(took)-1], max(1, count)
	one := took[len(took)/2] / time.Duration(attempts)
	switch {
	case err != nil:
		return result{}, err
	case notExact != "":
		return result{received: notExact}, nil
	case o.Refusal == wire.TimedOut: // the proxy may have been waiting for another attempt
		return result{received: fmt.Sprintf("no response after %s and %d attempts", last.Round(time.Second), attempts)}, nil
	case last > first+max(2*time.Second, first/4):
		return result{received: fmt.Sprintf("responses differ: after %s to %s", first.Round(time.Second), last.Round(time.Second))}, nil
	}
	if attempts > 1 { // the proxy may have cut off the last attempt, so that each of the others took longer
		longer, err := g.ask(ctx, g.Do, &wire.Request{Path: PlainPath + "?echo.delay=" + (one * 9 / 8).String(), Timeout: last + wire.Timeout})
		if err != nil || longer.Arrived() {
			return result{received: fmt.Sprintf("%d attempts within %s", attempts, last.Round(time.Second))}, err
		}
	}
	return result{value: one.Round(time.Second).String(), received: fmt.Sprintf("%s after %d attempts", describeRefusal(o.Refusal), attempts)}, nil
}
