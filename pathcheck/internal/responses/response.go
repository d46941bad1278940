package responses

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

func ExamineResponse(ctx context.Context, g *run.Group) error {
	return g.Each(ctx, examineResponseHeaders, examineEvents, examineStatuses, examineCompression, examineEarlyHints, examineCaching)
}

// testHeader is a header that a request asks the Echo to add to the response.
const testHeader = "X-Test-Pathcheck"

func examineResponseHeaders(ctx context.Context, g *run.Group) error {
	path, want := run.PlainPath, echoHeaders()
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
		g.Add(fact.Refused("response.headers.removed", path, o.Refusal))
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

func decideResponseHeaders(want []wire.Field, header http.Header) []fact.Fact {
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
	return []fact.Fact{
		fact.New("response.headers.removed", fact.Listed(lost), "", fact.DescribeLost(lost)),
		fact.New("response.headers.added", fact.Listed(added), "", received),
		fact.New("response.headers.changed", fact.Listed(other), "", received),
	}
}

// examineStatuses requests responses with several status codes. It requests few server errors, so that proxies do not stop using the pods.
func examineStatuses(ctx context.Context, g *run.Group) error {
	if reason := run.Controls(g.Known); reason != "" {
		g.Skip("response.status", reason)
		return nil
	}
	outcomes := map[int]run.Outcome{}
	for _, status := range []int{201, 204, 400, 404, 429, 500, 418, 503} {
		o, err := g.Ask(ctx, &wire.Request{Path: run.PlainPath + "?echo.status=" + strconv.Itoa(status)})
		if err != nil {
			return err
		}
		outcomes[status] = o
	}
	g.Add(decideStatuses(outcomes))
	return nil
}

// decideStatuses determines which status codes proxies replace.
func decideStatuses(outcomes map[int]run.Outcome) fact.Fact {
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
	value := fact.Kept
	if len(replaced) > 0 {
		value = "replaced " + fact.ShortList(replaced, fact.MaxValue-len("replaced "))
	}
	return fact.New("response.status", value, strings.Join(sent, " "), strings.Join(received, " "))
}

func examineCompression(ctx context.Context, g *run.Group) error {
	path := run.PlainPath
	if g.Known.Controls {
		path += "?echo.size=32768&echo.status=200" // proxies do not compress short responses and some errors
	}
	return g.Examine(ctx, &wire.Request{Path: path, Fields: wire.Fields("Accept-Encoding", "gzip, br, zstd")}, decideCompression)
}

func decideCompression(o run.Outcome) fact.Fact {
	const name, sent = "response.compression", "a text response to Accept-Encoding: gzip, br, zstd"
	if o.Refusal != "" {
		return fact.Refused(name, sent, o.Refusal)
	}
	value := o.Header.Get("Content-Encoding")
	received := "Content-Encoding: " + cmp.Or(value, fact.None)
	switch value {
	case "gzip", "br", "zstd":
		return fact.New(name, value, sent, received)
	case "":
		return fact.New(name, fact.None, sent, received)
	}
	return fact.New(name, "another", sent, received)
}

func examineEarlyHints(ctx context.Context, g *run.Group) error {
	if !g.Known.Full {
		g.Skip("response.earlyHints", "requests can make the Echo send status 103 only with spec.server.controls: Full")
		return nil
	}
	return g.Examine(ctx, &wire.Request{Path: run.PlainPath + "?echo.early-hints=true"}, decideEarlyHints)
}

func decideEarlyHints(o run.Outcome) fact.Fact {
	const name, sent = "response.earlyHints", "103, then 200"
	switch {
	case o.Refusal != "":
		return fact.Refused(name, sent, o.Refusal)
	case slices.Contains(o.Interim, http.StatusEarlyHints):
		return fact.New(name, fact.Kept, sent, sent)
	}
	return fact.New(name, fact.Dropped, sent, strconv.Itoa(o.Status))
}

// examineCaching sends a request twice. A cache responds to the second request with the first response, which contains the proof for the
// first request.
func examineCaching(ctx context.Context, g *run.Group) error {
	path := run.PlainPath + "/cache/" + wire.NewNonce()
	if _, err := g.Ask(ctx, &wire.Request{Path: path}); err != nil {
		return err
	}
	return g.Examine(ctx, &wire.Request{Path: path}, decideCaching)
}

func decideCaching(second run.Outcome) fact.Fact {
	const name, sent = "response.cached", "the same request twice"
	switch {
	case second.Refusal == fact.RefusedByCache:
		return fact.New(name, fact.Yes, sent, "the first response again")
	case second.Refusal != "":
		return fact.Refused(name, sent, second.Refusal)
	}
	return fact.New(name, fact.No, sent, "two responses from the Echo")
}

// ExamineTimeouts requests a response with the longest delay that the Echo supports.
func ExamineTimeouts(ctx context.Context, g *run.Group) error {
	const delay = 30 * time.Second
	began := time.Now()
	return g.Examine(ctx, &wire.Request{Path: run.PlainPath + "?echo.delay=" + delay.String(), Timeout: delay + wire.Timeout},
		func(o run.Outcome) fact.Fact { return decideTimeout(time.Since(began), delay, o) })
}

func decideTimeout(took, delay time.Duration, o run.Outcome) fact.Fact {
	const name = "timeouts.response"
	sent := "a request for a response after " + delay.String()
	if o.Refusal == "" {
		return fact.New(name, ">"+delay.String(), sent, "the response")
	}
	return fact.New(name, took.Round(time.Second).String(), sent, fact.DescribeRefusal(o.Refusal))
}
