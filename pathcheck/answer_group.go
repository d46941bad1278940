package pathcheck

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// examineAnswer examines what happens to responses.
func examineAnswer(ctx context.Context, g *group) error {
	return g.each(ctx, examineAnswerHeaders, examineEvents, examineStatuses, examineCompression, examineEarlyHints, examineCaching)
}

// testHeader is a header that the Echo is asked to add.
const testHeader = "X-Test-Pathcheck"

func examineAnswerHeaders(ctx context.Context, g *group) error {
	path, want := plainPath, echoHeaders()
	if g.known.controls {
		path += "?echo.set-header=" + testHeader + ":1"
		want = append(want, field{testHeader, "1"})
	}
	o, err := g.ask(ctx, &request{path: path})
	if err != nil {
		return err
	}
	if o.refusal != "" {
		g.add(refusedFact("answer.headers.lost", path, o.refusal, "which headers of a response do not arrive"))
		return nil
	}
	g.add(decideAnswerHeaders(want, o.header)...)
	return nil
}

// echoHeaders are headers of each response of an Echo. Those of which an Echo can choose the value have none here.
func echoHeaders() []field {
	return []field{{"Content-Type", ""}, {"Cache-Control", ""}, {"Vary", ""}, {"Date", ""}, {"X-Content-Type-Options", "nosniff"},
		{"Content-Security-Policy", "default-src 'none'; sandbox"}}
}

func decideAnswerHeaders(want []field, header http.Header) []Fact {
	known := []string{"Content-Length", "Connection", "Transfer-Encoding", "X-Echo-Applied", proof.ResponseHeader}
	var lost, other, added, texts []string
	for _, each := range want {
		known = append(known, each.name)
		switch received := header.Values(each.name); {
		case len(received) == 0:
			lost = append(lost, each.name)
		case each.value != "" && !slices.Contains(received, each.value):
			other = append(other, each.name)
			texts = append(texts, each.name+": "+strings.Join(received, ", "))
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
		newFact("answer.headers.lost", listed(lost), "", describeLost(lost), "which headers of a response do not arrive"),
		newFact("answer.headers.added", listed(added), "", received, "which headers a response has besides those of an Echo; the way adds them, or the Echo itself (spec.response.headers)"),
		newFact("answer.headers.changed", listed(other), "", received, "which headers of a response arrive with another value"),
	}
}

// examineEvents reads a stream of events, of which the Echo sends one each second.
func examineEvents(ctx context.Context, g *group) error {
	const enough = 3
	s, err := g.open(ctx, &request{path: "/-/sse", fields: []field{{"Accept", "text/event-stream"}}})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it does not end by itself
	if err := s.SetReadDeadline(time.Now().Add(enough * 2 * time.Second)); err != nil {
		return err
	}
	response, interim, err := s.readHeader() //nolint:bodyclose // it ends with the connection
	if err != nil {
		if refusalOf(err) == "time out" && ctx.Err() == nil {
			g.add(decideEvents(nil))
			return g.confirm(ctx)
		}
		_, err = g.outcome(ctx, nil, err)
		return err
	}
	a := s.newAnswer(response, interim)
	g.judge(a, s.nonce)
	if o, err := g.outcome(ctx, a, nil); err != nil || o.refusal != "" {
		if o.refusal != "" {
			g.add(refusedFact("answer.stream", "GET /-/sse", o.refusal, "whether a stream of events arrives"))
		}
		return err
	}
	arrivals, err := readUntil(response.Body, enough, s.began, readEvent)
	if ended := g.interrupted(ctx, err); ended != nil {
		return ended
	}
	g.add(decideEvents(arrivals))
	return nil
}

// readEvent reads an event, which ends in an empty line.
func readEvent(r io.Reader) error {
	var last, each [1]byte
	for range maxBody {
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

// decideEvents judges by when events arrive that were sent a second apart.
func decideEvents(arrivals []time.Duration) Fact {
	const name, sent = "answer.stream", "an event each second"
	const meaning = "whether parts of a response arrive when they are sent, or are held until the way has enough of them"
	var texts []string
	for _, each := range arrivals {
		texts = append(texts, each.Round(100*time.Millisecond).String())
	}
	received := "events after " + strings.Join(texts, ", ")
	switch {
	case len(arrivals) == 0:
		return newFact(name, "buffered", sent, "nothing in time", meaning)
	case len(arrivals) < 3 || arrivals[2]-arrivals[0] < time.Second:
		return newFact(name, "buffered", sent, received, meaning)
	}
	return newFact(name, "streamed", sent, received, meaning)
}

// examineStatuses asks for statuses. There are few of those that have a way stop using a server that often responds with them.
func examineStatuses(ctx context.Context, g *group) error {
	if reason := controls(g.known); reason != "" {
		g.skip("answer.status", reason)
		return nil
	}
	outcomes := map[int]outcome{}
	for _, status := range []int{201, 204, 400, 404, 429, 500, 418, 503} {
		o, err := g.ask(ctx, &request{path: plainPath + "?echo.status=" + strconv.Itoa(status)})
		if err != nil {
			return err
		}
		outcomes[status] = o
	}
	g.add(decideStatuses(outcomes))
	return nil
}

// decideStatuses tells which responses with a status do not arrive as the Echo sends them.
func decideStatuses(outcomes map[int]outcome) Fact {
	var sent, received, replaced []string
	for status, o := range outcomes {
		text := strconv.Itoa(status)
		sent = append(sent, text)
		switch {
		case o.refusal != "":
			replaced = append(replaced, text)
			received = append(received, text+": "+o.refusal+" of the way")
		case o.status != status:
			replaced = append(replaced, text)
			received = append(received, text+": "+strconv.Itoa(o.status))
		default:
			received = append(received, text)
		}
	}
	slices.Sort(sent)
	slices.Sort(received)
	value := kept
	if len(replaced) > 0 {
		value = "replaced " + shortList(replaced, maxValue-len("replaced "))
	}
	return newFact("answer.status", value, strings.Join(sent, " "), strings.Join(received, " "),
		"whether errors arrive as the application sends them, or are replaced by pages of the way")
}

func examineCompression(ctx context.Context, g *group) error {
	path := plainPath
	if g.known.controls {
		path += "?echo.size=32768" // ways do not compress what is short
	}
	return g.examine(ctx, &request{path: path, fields: []field{{"Accept-Encoding", "gzip, br, zstd"}}}, decideCompression)
}

func decideCompression(o outcome) Fact {
	const name, sent = "answer.compression", "a text, for Accept-Encoding: gzip, br, zstd"
	const meaning = "whether the way compresses responses; the Echo never does"
	if o.refusal != "" {
		return refusedFact(name, sent, o.refusal, meaning)
	}
	value := o.header.Get("Content-Encoding")
	if value == "" {
		value = none
	}
	return newFact(name, value, sent, "Content-Encoding: "+value, meaning)
}

func examineEarlyHints(ctx context.Context, g *group) error {
	if !g.known.full {
		g.skip("answer.earlyHints", "requests cannot have the Echo send a response with status 103, which requires spec.server.controls: Full")
		return nil
	}
	return g.examine(ctx, &request{path: plainPath + "?echo.early-hints=true"}, decideEarlyHints)
}

func decideEarlyHints(o outcome) Fact {
	const name, sent, meaning = "answer.earlyHints", "103, then 200", "whether a response with status 103 arrives before the other one"
	switch {
	case o.refusal != "":
		return refusedFact(name, sent, o.refusal, meaning)
	case slices.Contains(o.interim, http.StatusEarlyHints):
		return newFact(name, kept, sent, sent, meaning)
	}
	return newFact(name, dropped, sent, strconv.Itoa(o.status), meaning)
}

// examineCaching sends a request twice: a cache sends the first response again, with the proof of the first request.
func examineCaching(ctx context.Context, g *group) error {
	path := plainPath + "/cache/" + newNonce()
	if _, err := g.ask(ctx, &request{path: path}); err != nil {
		return err
	}
	return g.examine(ctx, &request{path: path}, decideCaching)
}

func decideCaching(second outcome) Fact {
	const name, sent = "answer.cached", "the same request twice"
	const meaning = "whether the way responds from a cache; an Echo forbids it, unless spec.response.headers has another Cache-Control"
	switch {
	case second.refusal == refusedByCache:
		return newFact(name, yes, sent, "the first response again", meaning)
	case second.refusal != "":
		return refusedFact(name, sent, second.refusal, meaning)
	}
	return newFact(name, no, sent, "two responses of the Echo", meaning)
}
