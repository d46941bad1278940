// Package probe examines a path in groups of facts: what it does to requests and responses, and how clients appear to the Echo.
package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Group is a part of a run that examines related facts.
type Group struct {
	*wire.Client
	Engine  *Engine
	Known   *Known
	CA      []byte // PEM certificates that are trusted in addition to the browsers' roots
	Large   bool   // whether to send more than 5 MiB
	Do      sender // sends plain requests: Client.Do
	Facts   []Fact
	Skipped []NotTested

	mutex sync.Mutex // protects Facts and Skipped
}

// Skip records why a fact in the group could not be determined in any run.
func (g *Group) Skip(name, reason string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.Skipped = append(g.Skipped, NotTested{Name: name, Reason: reason})
}

// Unknown records why a fact in the group could not be determined in this run.
func (g *Group) Unknown(name, reason string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.Skipped = append(g.Skipped, NotTested{Name: name, Reason: Cut(Printable(reason), maxText), Unfinished: true})
}

// Add adds facts. The Echo does not report what a fact without a value requires.
func (g *Group) Add(facts ...Fact) {
	for _, each := range facts {
		if each.Value == "" {
			g.Skip(each.Name, each.Received)
			continue
		}
		g.mutex.Lock()
		g.Facts = append(g.Facts, each)
		g.mutex.Unlock()
	}
}

// part examines some of the facts of a group.
type part func(context.Context, *Group) error

// Each examines the parts of a group at the same time.
func (g *Group) Each(ctx context.Context, parts ...part) error {
	_, err := inParallel(ctx, len(parts), func(ctx context.Context, i int) (struct{}, error) { return struct{}{}, parts[i](ctx, g) })
	return err
}

// Outcome is the outcome of a request: the Echo's response, or a proxy's refusal.
type Outcome struct {
	*wire.Response        // nil if there was no response
	Refusal        string // such as "404" or "closed"; empty if the Echo responded
	nonce          string // of the request
	began          time.Time
	took           time.Duration // until the response, or until there was none
	counts         bool          // whether the control that was sent with the request arrived
}

// Arrived reports whether the Echo has received the request.
func (o Outcome) Arrived() bool { return o.Refusal == "" }

// rejected reports whether the Echo itself rejected the request because of its size.
func (o Outcome) rejected() bool { return o.Response != nil && o.RejectedByEcho() }

// isLimited reports whether a proxy refused the request because of a limit on the rate of requests.
func (o Outcome) isLimited() bool { return o.Response != nil && o.Refusal == "429" }

// Described returns the Echo's description of the request, if any.
func (o Outcome) Described() *wire.Description {
	if o.Refusal != "" || o.Response == nil {
		return nil
	}
	return o.Description
}

func outcomeOf(a *wire.Response, err error) Outcome {
	switch {
	case err != nil:
		return Outcome{Refusal: wire.RefusalOf(err)}
	case a.Proven && a.Cached:
		return Outcome{Response: a, Refusal: refusedByCache}
	case a.Proven:
		return Outcome{Response: a}
	}
	return Outcome{Response: a, Refusal: strconv.Itoa(a.Status)}
}

// sender sends a request, and returns the response.
type sender func(context.Context, *wire.Request) (*wire.Response, error)

// experiment determines a property of the path by comparing requests: a probe, and a control that differs from the probe only in the
// tested property.
type experiment struct {
	fact, sent string
	probe      wire.Request
	control    *wire.Request // nil means a plain request
	send       sender        // sends probes; nil means Group.Do
	// read returns the value that the Echo's response to the probe shows, and what the Echo received. Without a value, it returns why the
	// response shows none.
	read func(Outcome) (value, received string)
	once bool // whether one response suffices, because the value says that something happens rather than always happens
	// refused returns the value for a probe that proxies refuse. Nil means refusedBy.
	refused  func(Outcome) (value, received string)
	requests int  // the number of requests that send sends; 0 means 1
	large    bool // whether a missing response may mean that the path is slow
	caches   bool // whether an earlier response is an outcome of interest
	rejects  bool // whether a rejection by the Echo is an outcome of interest
	detail   bool
}

// result is what an experiment determined. Without a value, received is the reason.
type result struct {
	value, received string
	outcome         Outcome // of the last probe
}

// find performs an experiment, and adds its fact.
func (g *Group) find(ctx context.Context, x experiment) error {
	r, err := g.perform(ctx, x)
	return g.conclude(x, r, err)
}

// plainAll adds the facts that the descriptions of the first, plain requests show. All descriptions must agree about a fact.
func (g *Group) plainAll(factsOf func(*wire.Description) []Fact) {
	for i, f := range factsOf(g.Known.Plain.Description) {
		differs := func(a *wire.Response) bool { return a.Description != nil && factsOf(a.Description)[i].Value != f.Value }
		if at := slices.IndexFunc(g.Known.Samples, differs); at >= 0 {
			g.Unknown(f.Name, "responses differ: "+f.Value+", "+factsOf(g.Known.Samples[at].Description)[i].Value)
		} else {
			g.Add(f)
		}
	}
}

// findAll performs an experiment whose outcome shows several facts, or nil if the Echo does not describe the request.
func (g *Group) findAll(ctx context.Context, x experiment, factsOf func(Outcome) []Fact) error {
	x.read = func(o Outcome) (string, string) {
		var values []string
		for _, each := range factsOf(o) {
			values = append(values, each.Value)
		}
		return strings.Join(values, "; "), whyNotDescribed(o)
	}
	r, err := g.perform(ctx, x)
	switch {
	case err != nil:
		return err
	case r.value != "" && r.outcome.Arrived():
		g.Add(factsOf(r.outcome)...)
		return nil
	case r.value != "":
		r.received = x.sent + " is refused: " + describeRefusal(r.outcome.Refusal)
	}
	for _, each := range factsOf(Outcome{Response: &wire.Response{Description: &wire.Description{}, Claims: &proof.Claims{}}}) {
		g.Unknown(each.Name, r.received)
	}
	return nil
}

// inParallel calls a function several times at the same time, and returns its results in order.
func inParallel[T any](ctx context.Context, count int, call func(ctx context.Context, i int) (T, error)) ([]T, error) {
	results := make([]T, count)
	all, ctx := errgroup.WithContext(ctx)
	for i := range results {
		all.Go(func() (err error) {
			results[i], err = call(ctx, i)
			return err
		})
	}
	return results, all.Wait()
}

// together performs an experiment for each case at the same time.
func together[T any](ctx context.Context, g *Group, cases []T, experimentFor func(T) experiment) ([]result, error) {
	return inParallel(ctx, len(cases), func(ctx context.Context, i int) (result, error) { return g.perform(ctx, experimentFor(cases[i])) })
}

// both performs an experiment for two cases, and merges the results. If the values differ, the result contains both, and the name of the
// first case.
func both[T any](ctx context.Context, g *Group, first string, cases []T, experimentFor func(T) experiment) (result, error) {
	results, err := together(ctx, g, cases, experimentFor)
	if err != nil {
		return result{}, err
	}
	for _, each := range results {
		if each.value == "" {
			return each, nil
		}
	}
	merged := results[len(results)-1]
	if merged.value != results[0].value {
		merged.value = results[0].value + " if " + first + ", else " + merged.value
		merged.received = results[0].received + "; " + merged.received
	}
	return merged, nil
}

// conclude adds the fact that an experiment has determined or, if the result has no value, the reason. It returns the error of the experiment.
func (g *Group) conclude(x experiment, r result, err error) error {
	switch {
	case err != nil:
		return err
	case r.value == "":
		g.Unknown(x.fact, r.received)
	default:
		f := NewFact(x.fact, r.value, x.sent, r.received)
		f.Detail = x.detail
		g.Add(f)
	}
	return nil
}

// concludeEach adds a fact about several cases: kept, or what happened to some of them. It does not if one has no value.
func (g *Group) concludeEach(fact string, cases []string, results []result) {
	received, affected := []string{}, map[string][]string{}
	for i, each := range results {
		switch each.value {
		case "":
			g.Unknown(fact, cases[i]+": "+each.received)
			return
		case Kept:
			received = append(received, cases[i])
		default:
			received = append(received, cases[i]+": "+each.received)
			affected[each.value] = append(affected[each.value], cases[i])
		}
	}
	value := Kept
	for _, what := range slices.Sorted(maps.Keys(affected)) { // if some are changed and others are refused, the fact is about the latter
		names := affected[what]
		value = what + " " + listed(names)
		if len(value) > maxList {
			value = fmt.Sprintf("%s %d #%s", what, len(names), digest(listed(names)))
		}
	}
	g.Add(NewFact(fact, value, strings.Join(cases, " "), strings.Join(received, " ")))
}

// plainRequest returns a request that arrives unless an error occurs.
func plainRequest() *wire.Request {
	return &wire.Request{Path: PlainPath + "?" + wire.NewNonce()} // no cache has a response for this URL
}

// perform sends probes. If a probe does not arrive, perform sends pairs of a control and a probe in random order, because only a probe that
// is refused while controls arrive shows a property of the path.
func (g *Group) perform(ctx context.Context, x experiment) (result, error) {
	if x.send == nil {
		x.send = g.Do
	}
	if x.refused == nil {
		x.refused = refusedBy
	}
	t := trial{experiment: x, engine: g.Engine, shown: map[string]int{}, refusals: map[string]int{}}
	slowed := g.Engine.Slowed()
	for t.pairs < maxPairs {
		if now := g.Engine.Slowed(); now != slowed { // the pace may explain the earlier refusals
			slowed = now
			clear(t.refusals)
		}
		count := 1
		if !t.lost.Arrived() && t.lost.took >= longRefusal && !x.large {
			count = min(t.needed(), maxPairs-t.pairs)
		}
		isPaired := len(t.refusals) > 0
		outcomes, err := inParallel(ctx, count, func(ctx context.Context, _ int) (Outcome, error) { return g.attempt(ctx, x, isPaired) })
		if err != nil {
			return result{}, err
		}
		for _, o := range outcomes {
			if r, isDone := t.consider(o); isDone {
				return r, nil
			}
		}
	}
	return result{"", "errors: " + describeCounts(t.refusals), t.lost}, nil
}

// outOfMemory is the reason for an unknown fact if the Echo has too little memory for a request.
const outOfMemory = "the Echo is out of memory"

// longRefusal is how long a refusal takes at least if waiting for each of several would take too long.
const longRefusal = 5 * time.Second

// trial is an experiment with the outcomes of its probes so far.
type trial struct {
	experiment
	engine   *Engine
	shown    map[string]int // how many outcomes show each value
	refusals map[string]int // how many probes were refused in each way while controls arrived
	pairs    int
	last     result  // what the last response showed
	lost     Outcome // of the last probe, if it was refused
}

// needed returns how many equal refusals show a property of the path.
func (t *trial) needed() int { return t.engine.needed(max(1, t.requests)) }

// valueOf returns what a response shows, unless the Echo had too little memory for the request.
func (t *trial) valueOf(o Outcome) (value, received string) {
	if c := o.Claims; c != nil && c.Status == http.StatusServiceUnavailable && c.Fields["Retry-After"] == proof.FieldDigest([]string{"1"}) {
		return "", outOfMemory
	}
	return t.read(o)
}

// consider adds the outcome of a probe. It returns the result so far, and whether no other outcome is needed.
func (t *trial) consider(o Outcome) (r result, isDone bool) {
	if o.Arrived() || o.rejected() && t.rejects {
		t.engine.record(1, total(t.refusals)) // errors caused the earlier refusals
		clear(t.refusals)
		value, received := t.valueOf(o)
		t.last, t.lost = result{value, received, o}, Outcome{}
		if t.shown[value]++; value != "" && total(t.shown) == 4 {
			return result{"", "responses differ: " + describeCounts(t.shown), o}, true
		}
		return t.last, value == "" || len(t.shown) == 1 && (t.once || t.shown[value] == 2)
	}
	t.pairs++
	value, received := t.refused(o)
	refusal := result{value, received, o}
	switch {
	case o.rejected():
		return result{"", "the Echo rejects the request, whose header is too long", o}, true
	case o.Refusal == refusedByCache && t.caches: // no error has this outcome
		return refusal, true
	case o.Refusal == refusedByCache && len(t.shown) > 0: // a cache repeats what the earlier response showed
		return t.last, true
	case o.Refusal == refusedByCache:
		return result{"", describeRefusal(o.Refusal), o}, true
	case o.Refusal == wire.TimedOut && t.large && t.pairs > 1:
		return result{"", "slow path: no response in time", o}, true
	}
	t.lost = o
	t.refusals[o.Refusal] += map[bool]int{true: 1}[o.counts] // not the first refusal, nor one of a pair whose control did not arrive either
	return refusal, t.refusals[o.Refusal] >= t.needed()
}

func total(counts map[string]int) (sum int) {
	for _, each := range counts {
		sum += each
	}
	return sum
}

// attempt sends a probe, alone or with a control. The outcome counts if the control arrived.
func (g *Group) attempt(ctx context.Context, x experiment, isPaired bool) (probe Outcome, err error) {
	if !isPaired {
		return g.ask(ctx, x.send, &x.probe)
	}
	control, first := plainRequest(), rand.IntN(2)
	if x.control != nil {
		control = new(*x.control)
	}
	var controlled Outcome
	for i := range 2 {
		if i == first {
			probe, err = g.ask(ctx, x.send, &x.probe)
		} else {
			controlled, err = g.ask(ctx, g.Do, control)
		}
		if err != nil {
			return probe, err
		}
	}
	probe.counts = controlled.Arrived()
	if x.control != nil { // the Echo may respond to plain requests although it never receives this control
		failed := map[bool]int{false: 1}[controlled.Arrived()]
		g.Engine.record(1-failed, failed)
		return probe, nil
	}
	return probe, g.Engine.control(controlled)
}

// onStream returns a function that sends the header of a request, and uses the connection until it has a response. Only the data read by
// then matters.
func (g *Group) onStream(use func(context.Context, *wire.Stream) (*wire.Response, error)) sender {
	return func(ctx context.Context, r *wire.Request) (*wire.Response, error) {
		s, err := g.Open(ctx, r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.Close() }()
		return use(ctx, s)
	}
}

// ask sends a request at the pace of the run. It returns an error if the run is over. A refusal that a request causes keeps the pace.
func (g *Group) ask(ctx context.Context, send sender, r *wire.Request) (Outcome, error) {
	if err := g.Engine.await(ctx); err != nil {
		return Outcome{}, err
	}
	began := time.Now()
	a, err := send(ctx, r)
	if ended := over(ctx, err); ended != nil {
		return Outcome{}, ended
	}
	o := outcomeOf(a, err)
	o.nonce, o.began, o.took = r.Nonce, began, time.Since(began)
	if o.Arrived() || o.isLimited() && !strings.HasSuffix(r.Path, "echo.status=429") { // Varnish sends Retry-After with each error
		g.Engine.adapt(o)
	}
	return o, nil
}

// described returns a function that reads a value from the Echo's description of a request.
func described(read func(*wire.Description) (value, received string)) func(Outcome) (string, string) {
	return func(o Outcome) (string, string) {
		if e := o.Described(); e != nil {
			return read(e)
		}
		return "", whyNotDescribed(o)
	}
}

func whyNotDescribed(o Outcome) string {
	if o.Changed {
		return "responses are changed"
	}
	return "a response that does not describe the request"
}

// over returns the reason why a run is over, or nil if it is not over. After a run is over, the outcome of a request reveals nothing about
// the path.
func over(ctx context.Context, err error) error {
	if wire.IsLimit(err) {
		return err
	}
	return DeadlineIn(ctx)
}

var (
	ErrDeadline    = errors.New(verdict.DeadlinePassed)
	errInterrupted = errors.New("the run was interrupted")
)

// DeadlineIn returns an error if a run took too long or was interrupted. Reports contain this error instead of its consequences.
func DeadlineIn(ctx context.Context) error {
	return map[error]error{context.Canceled: errInterrupted, context.DeadlineExceeded: ErrDeadline}[ctx.Err()]
}
