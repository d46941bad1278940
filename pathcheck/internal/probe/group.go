// Package probe examines a path in groups of facts: what it does to requests and responses, and how clients appear to the Echo.
package probe

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	Facts   []Fact
	Skipped []NotTested

	do    sender     // sends plain requests; nil means Client.Do
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

// part is a part of a group.
type part func(context.Context, *Group) error

// Each examines the parts of a group at the same time.
func (g *Group) Each(ctx context.Context, parts ...part) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, each := range parts {
		all.Go(func() error { return each(ctx, g) })
	}
	return all.Wait()
}

// Outcome is the outcome of a request: the Echo's response, or a proxy's refusal.
type Outcome struct {
	*wire.Response        // nil if there was no response
	Refusal        string // such as "404" or "closed"; empty if the Echo responded
	nonce          string // of the request
	began          time.Time
}

// Arrived reports whether the Echo has received the request.
func (o Outcome) Arrived() bool { return o.Refusal == "" }

// rejected reports whether the Echo itself rejected the request because of its size.
func (o Outcome) rejected() bool { return o.Response != nil && o.RejectedByEcho() }

// isLimited reports whether a proxy refused the request because of a limit on the rate of requests.
func (o Outcome) isLimited() bool { return o.Response != nil && o.Refusal == "429" }

// isPaused reports whether a proxy refused the request for some time. Unless the request is plain, this may be due to the request: Varnish
// sends Retry-After with each of its errors.
func (o Outcome) isPaused() bool {
	return o.Response != nil && o.Refusal != "" && o.Header.Get("Retry-After") != ""
}

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
	return Outcome{Response: a, Refusal: a.Refusal()}
}

// sender sends a request, and returns the response.
type sender func(context.Context, *wire.Request) (*wire.Response, error)

// experiment determines a property of the path by comparing requests: a probe, and a control that differs from the probe only in the
// tested property.
type experiment struct {
	fact, sent string
	probe      func() *wire.Request
	control    func() *wire.Request // nil means a plain request
	send       sender               // sends probes; nil means Group.Do
	// read returns the value that the Echo's response to the probe shows, and what the Echo received. Without a value, it returns why the
	// response shows none.
	read func(Outcome) (value, received string)
	once bool // whether one response suffices, because the value says that something happens rather than always happens
	// refused returns the value for a probe that proxies refuse. Nil means refusedFact.
	refused  func(Outcome) (value, received string)
	requests int  // the number of requests that send sends; 0 means 1
	large    bool // whether a missing response may mean that the path is slow
	caches   bool // whether an earlier response is an outcome of interest
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
	if err != nil {
		return err
	}
	g.conclude(x, r)
	return nil
}

// plainAll adds the facts that the descriptions of the first, plain requests show. All descriptions must agree about a fact.
func (g *Group) plainAll(factsOf func(*wire.Description) []Fact) {
	first := factsOf(g.Known.Plain.Description)
	for _, each := range g.Known.Samples {
		if each.Description == nil {
			continue
		}
		for i, f := range factsOf(each.Description) {
			if first[i].Name != "" && f.Value != first[i].Value {
				g.Unknown(f.Name, "responses differ: "+first[i].Value+", "+f.Value)
				first[i].Name = ""
			}
		}
	}
	g.Add(slices.DeleteFunc(first, func(f Fact) bool { return f.Name == "" })...)
}

// findAll performs an experiment whose description shows several facts.
func (g *Group) findAll(ctx context.Context, x experiment, factsOf func(*wire.Description) []Fact) error {
	x.read = described(func(e *wire.Description) (string, string) {
		var values []string
		for _, each := range factsOf(e) {
			values = append(values, each.Value)
		}
		return strings.Join(values, "; "), ""
	})
	x.refused = func(o Outcome) (string, string) { return "refused " + o.Refusal, "" }
	r, err := g.perform(ctx, x)
	if err != nil {
		return err
	}
	if e := r.outcome.Described(); e != nil && r.value != "" {
		g.Add(factsOf(e)...)
		return nil
	}
	reason := cmp.Or(r.received, x.sent+" is refused: "+describeRefusal(r.outcome.Refusal))
	for _, each := range factsOf(&wire.Description{}) {
		g.Unknown(each.Name, reason)
	}
	return nil
}

// together performs experiments at the same time.
func (g *Group) together(ctx context.Context, count int, experimentAt func(i int) experiment) ([]result, error) {
	results := make([]result, count)
	all, ctx := errgroup.WithContext(ctx)
	for i := range results {
		all.Go(func() (err error) {
			results[i], err = g.perform(ctx, experimentAt(i))
			return err
		})
	}
	return results, all.Wait()
}

func (g *Group) conclude(x experiment, r result) {
	if r.value == "" {
		g.Unknown(x.fact, r.received)
		return
	}
	f := NewFact(x.fact, r.value, x.sent, r.received)
	f.Detail = x.detail
	g.Add(f)
}

// plainRequest returns a request that arrives unless an error occurs.
func plainRequest() *wire.Request {
	return &wire.Request{Path: PlainPath + "?" + wire.NewNonce()} // no cache has a response for this URL
}

// perform sends probes. If a probe does not arrive, perform sends pairs of a control and a probe in random order, because only a probe that
// is refused while controls arrive shows a property of the path.
func (g *Group) perform(ctx context.Context, x experiment) (result, error) {
	shown, refused := map[string]int{}, map[string]int{}
	var last result         // what the last response showed
	var lost Outcome        // of the last probe that was refused
	var waiting []attempted // outcomes that have not been considered yet
	slowed := g.Engine.Slowed()
	for pairs := 0; pairs < maxPairs; {
		if now := g.Engine.Slowed(); now != slowed { // the pace may explain the earlier refusals
			slowed = now
			clear(refused)
		}
		if len(waiting) == 0 {
			count := 1
			if lost.Refusal == wire.TimedOut && !x.large { // waiting for each in turn would take too long
				count = min(g.Engine.needed(max(1, x.requests)), maxPairs-pairs)
			}
			var err error
			if waiting, err = g.attempts(ctx, x, count, len(refused) > 0); err != nil {
				return result{}, err
			}
		}
		o, counts := waiting[0].probe, waiting[0].counts
		waiting = waiting[1:]
		if o.Arrived() || o.rejected() {
			g.Engine.record(1, total(refused)) // errors caused the earlier refusals
			clear(refused)
			value, received := x.read(o)
			last, lost = result{value, received, o}, Outcome{}
			shown[value]++
			switch {
			case value == "", len(shown) == 1 && (x.once || shown[value] == 2):
				return last, nil
			case total(shown) == 4:
				return result{"", "responses differ: " + describeCounts(shown), o}, nil
			}
			continue
		}
		pairs++
		if r, ok := x.atOnce(o, pairs, shown, last); ok {
			return r, nil
		}
		lost = o
		refused[o.Refusal] += map[bool]int{true: 1}[counts] // not the first refusal, nor one of a pair whose control did not arrive either
		if refused[o.Refusal] >= g.Engine.needed(max(1, x.requests)) {
			return x.refusal(o), nil
		}
	}
	return result{"", "errors: " + describeCounts(refused), lost}, nil
}

// atOnce returns the result for a refusal that needs no other refusals, if this is one.
func (x *experiment) atOnce(o Outcome, pairs int, shown map[string]int, last result) (r result, ok bool) {
	switch {
	case o.Refusal == refusedByCache && len(shown) > 0: // a cache repeats what the earlier response showed
		return last, true
	case o.Refusal == refusedByCache && !x.caches:
		return result{"", describeRefusal(o.Refusal), o}, true
	case o.Refusal == refusedByCache: // no error has this outcome
		return x.refusal(o), true
	case o.Refusal == wire.TimedOut && x.large && pairs > 1:
		return result{"", "slow path: no response in time", o}, true
	}
	return result{}, false
}

// refusal returns the result for a probe that proxies refuse.
func (x *experiment) refusal(o Outcome) result {
	if x.refused != nil {
		value, received := x.refused(o)
		return result{value, received, o}
	}
	f := refusedFact(x.fact, x.sent, o.Refusal)
	return result{f.Value, f.Received, o}
}

func total(counts map[string]int) (sum int) {
	for _, each := range counts {
		sum += each
	}
	return sum
}

// attempted is the outcome of a probe, and whether it counts.
type attempted struct {
	probe  Outcome
	counts bool
}

// attempts sends several probes at the same time.
func (g *Group) attempts(ctx context.Context, x experiment, count int, paired bool) ([]attempted, error) {
	outcomes := make([]attempted, count)
	all, ctx := errgroup.WithContext(ctx)
	for i := range outcomes {
		all.Go(func() (err error) {
			outcomes[i].probe, outcomes[i].counts, err = g.attempt(ctx, x, paired)
			return err
		})
	}
	return outcomes, all.Wait()
}

// attempt sends a probe, alone or with a control. It reports whether the probe's outcome counts: whether the control arrived.
func (g *Group) attempt(ctx context.Context, x experiment, paired bool) (probe Outcome, counts bool, err error) {
	send, do := x.send, g.do
	if do == nil {
		do = g.Do
	}
	if send == nil {
		send = do
	}
	if !paired {
		probe, err = g.ask(ctx, send, x.probe())
		return probe, false, err
	}
	control := plainRequest
	if x.control != nil {
		control = x.control
	}
	var controlled Outcome
	both := []func(context.Context) error{
		func(ctx context.Context) (err error) { probe, err = g.ask(ctx, send, x.probe()); return err },
		func(ctx context.Context) (err error) { controlled, err = g.ask(ctx, do, control()); return err },
	}
	rand.Shuffle(len(both), func(i, j int) { both[i], both[j] = both[j], both[i] })
	for _, each := range both {
		if err := each(ctx); err != nil {
			return probe, false, err
		}
	}
	if x.control != nil { // the Echo may respond to plain requests although it never receives this control
		if controlled.Arrived() {
			g.Engine.record(1, 0)
		} else {
			g.Engine.record(0, 1)
		}
		return probe, controlled.Arrived(), nil
	}
	return probe, controlled.Arrived(), g.Engine.control(controlled)
}

// ask sends a request at the pace of the run. It returns an error if the run is over.
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
	o.nonce, o.began = r.Nonce, began
	if o.Arrived() || o.isLimited() {
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

// NotApplicable is the error for a group that cannot be tested in any run.
type NotApplicable string

func (n NotApplicable) Error() string { return string(n) }

// DeadlineIn returns an error if a run took too long or was interrupted. Reports contain this error instead of its consequences.
func DeadlineIn(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return errInterrupted
	}
	return ErrDeadline
}
