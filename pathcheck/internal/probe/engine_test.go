package probe

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// TestUpperBound compares bounds with those in tables of the binomial distribution.
func TestUpperBound(t *testing.T) {
	for _, c := range []struct {
		failed, requests int
		want             float64
	}{{0, 0, 1}, {1, 1, 1}, {0, 100, 0.0295}, {0, 20, 0.139}, {2, 100, 0.0616}, {10, 100, 0.1637}, {150, 300, 0.549}} {
		if got := upperBound(c.failed, c.requests); math.Abs(got-c.want) > 0.001 {
			t.Errorf("%d of %d: %f, want %f", c.failed, c.requests, got, c.want)
		}
	}
}

func TestEngine_needed(t *testing.T) {
	for _, c := range []struct{ failed, arrived, want int }{{0, 100, 4}, {0, 50, 5}, {2, 98, 5}, {10, 90, 8}, {0, 0, math.MaxInt}} {
		e := NewEngine()
		e.record(c.arrived, c.failed)
		if got := e.needed(1); got != c.want {
			t.Errorf("%d of %d failed: %d, want %d", c.failed, c.failed+c.arrived, got, c.want)
		}
	}
}

// path is a path that fails at random, and whose probes have fixed outcomes otherwise.
type path struct {
	errors float64
	random *rand.Rand
}

var errReset = syscall.ECONNRESET

// experimentOn returns a group and an experiment whose probe has the given outcome. Controls arrive unless an error occurs.
func (p *path) experimentOn(outcome func() (*wire.Response, error)) (*Group, experiment) {
	target, _ := wire.ParseTarget("http://localhost", "")
	g := &Group{Client: &wire.Client{Target: target, Limits: wire.NewLimits()}, Engine: NewEngine(), Known: &Known{}}
	send := func(of func() (*wire.Response, error)) sender {
		return func(context.Context, *wire.Request) (*wire.Response, error) {
			if p.random.Float64() < p.errors {
				return nil, errReset
			}
			return of()
		}
	}
	g.Do = send(func() (*wire.Response, error) { return &wire.Response{Proven: true, Claims: &proof.Claims{}}, nil })
	return g, experiment{fact: "request.host", sent: "a", send: send(outcome),
		read: func(o Outcome) (string, string) { return string(o.Body), "" }}
}

// TestGroup_perform_neverTakesErrorsForProperties performs experiments on paths with errors.
func TestGroup_perform_neverTakesErrorsForProperties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the pace takes no time
		arrives := func() (*wire.Response, error) {
			return &wire.Response{Proven: true, Claims: &proof.Claims{}, Body: []byte(Kept)}, nil
		}
		refused := func() (*wire.Response, error) { return &wire.Response{Status: 403}, nil }
		for _, share := range []float64{0, 0.01, 0.02, 0.1, 0.3} {
			known := 0
			for seed := range uint64(100) {
				p := &path{share, rand.New(rand.NewPCG(seed, 0))}
				for want, outcome := range map[string]func() (*wire.Response, error){Kept: arrives, "refused 403": refused} {
					g, x := p.experimentOn(outcome)
					g.Engine.record(int(100*(1-share)), int(100*share))
					r, err := g.perform(t.Context(), x)
					if err != nil || r.value != want && r.value != "" {
						t.Fatalf("errors of %.2f, seed %d: %q, %v, want %q", share, seed, r.value, err, want)
					}
					if r.value != "" {
						known++
					}
				}
			}
			if known < 190 && share <= 0.1 {
				t.Errorf("errors of %.2f: %d of 200 values are known", share, known)
			}
		}
	})
}

func TestGroup_perform_takesNoValueFromRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, x := (&path{0, rand.New(rand.NewPCG(0, 0))}).experimentOn(func() (*wire.Response, error) {
			return &wire.Response{Status: 431, Body: []byte("echo-server: the header is too long\n")}, nil
		})
		x.read = func(o Outcome) (string, string) { return Yes, o.Claims.Server } // a rejection has no claims
		if r, err := g.perform(t.Context(), x); err != nil || r.value != "" {
			t.Errorf("%q, %v", r.value, err)
		}
	})
}

// TestGroup_perform_pausesOnlyForPlainRequests performs an experiment whose probes, but not its controls, are refused with Retry-After.
func TestGroup_perform_pausesOnlyForPlainRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, x := (&path{0, rand.New(rand.NewPCG(0, 0))}).experimentOn(func() (*wire.Response, error) {
			return &wire.Response{Status: 503, Header: http.Header{"Retry-After": {"5"}}}, nil
		})
		began := time.Now()
		if r, err := g.perform(t.Context(), x); err != nil || r.value != "refused 503" {
			t.Errorf("%q, %v", r.value, err)
		}
		if took := time.Since(began); took > time.Second || !g.Engine.Slowed().IsZero() {
			t.Errorf("the run took %s and slowed down at %s", took, g.Engine.Slowed())
		}
	})
}

func TestGroup_perform_reasons(t *testing.T) {
	quiet := &path{random: rand.New(rand.NewPCG(1, 0))}
	count := 0
	alternating := func() (*wire.Response, error) {
		count++
		return &wire.Response{Proven: true, Claims: &proof.Claims{}, Body: []byte([]string{"a", "b"}[count%2])}, nil
	}
	silent := func() (*wire.Response, error) { return nil, context.DeadlineExceeded }
	for name, c := range map[string]struct {
		outcome func() (*wire.Response, error)
		change  func(*experiment)
		want    string
	}{
		"responses differ": {alternating, func(*experiment) {}, "responses differ: a (2), b (2)"},
		"no memory": {func() (*wire.Response, error) {
			return &wire.Response{Proven: true, Body: []byte("a"), Claims: &proof.Claims{Status: 503,
				Fields: map[string]string{"Retry-After": proof.FieldDigest([]string{"1"})}}}, nil
		}, func(x *experiment) { x.once = true }, "the Echo is out of memory"},
		"a slow path": {silent, func(x *experiment) { x.large = true }, "slow path"},
	} {
		g, x := quiet.experimentOn(c.outcome)
		c.change(&x)
		if r, err := g.perform(t.Context(), x); r.value != "" || !strings.HasPrefix(r.received, c.want) || err != nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	g, x := quiet.experimentOn(func() (*wire.Response, error) { return &wire.Response{Proven: true, Cached: true}, nil })
	x.caches = true
	if r, err := g.perform(t.Context(), x); r.value != "refused cached" || err != nil {
		t.Errorf("a cache: %+v, %v", r, err)
	}
}

// TestEngine_control_slowsDown sends controls to a server that refuses requests above a rate.
func TestEngine_control_slowsDown(t *testing.T) {
	for _, status := range []int{429, 503} {
		synctest.Test(t, func(t *testing.T) {
			e, tokens, last := NewEngine(), 20.0, time.Now()
			refused := 0
			for i := range 300 {
				if err := e.await(t.Context()); err != nil {
					t.Fatal(err)
				}
				now := time.Now()
				tokens, last = min(20, tokens+20*now.Sub(last).Seconds()), now
				o := Outcome{Response: &wire.Response{Proven: true}, began: now}
				if tokens < 1 {
					o = Outcome{Response: &wire.Response{Status: status}, Refusal: strconv.Itoa(status), began: now}
					if i > 100 {
						refused++
					}
				} else {
					tokens--
				}
				e.adapt(o)
				if err := e.control(o); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Millisecond)
			}
			if refused > 0 || e.needed(1) > 5 {
				t.Errorf("%d: %d requests are refused at a pace of one per %s, %d probes are needed", status, refused, e.pace, e.needed(1))
			}
		})
	}
}

func TestEngine_control_endsWithoutTheEcho(t *testing.T) {
	e := NewEngine()
	var err error
	for range maxLost {
		if err != nil {
			t.Fatal("the run ends too early")
		}
		err = e.control(Outcome{Refusal: "reset", began: time.Now()})
	}
	if err == nil || errors.Is(err, ErrDeadline) {
		t.Errorf("the error is %v", err)
	}
}

func TestEngine_explains(t *testing.T) {
	e := NewEngine()
	if !e.explains(20, 40) {
		t.Error("without a known request, errors may be frequent")
	}
	e.record(100, 2)
	for failed, want := range map[int]bool{1: true, 8: true, 20: false, 40: false} {
		if e.explains(failed, 40) != want {
			t.Errorf("%d of 40 failed requests: want %v", failed, want)
		}
	}
}
