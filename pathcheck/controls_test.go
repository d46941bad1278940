package pathcheck

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// TestRun_overMakesNoFacts ends runs early, and checks that the end is not mistaken for a fact about the path.
func TestRun_overMakesNoFacts(t *testing.T) {
	for group, fact := range map[string]string{"grpc": "grpc.stream", "response": "response.stream"} {
		t.Run(group, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report := run(t, &truthCase{transport: overH2C, options: func(o *Options) {
					o.Deadline, o.Groups = 1200*time.Millisecond, []string{group}
				}}, noise{}, 1)
				v, err := verdict.Decode(string(report.Verdict()))
				if err != nil || report.fact(fact) != nil || v.Unfinished != verdict.DeadlinePassed {
					t.Errorf("the verdict is %s, %v", report.Verdict(), err)
				}
			})
		})
	}
}

// TestRun_echoThatGoesMakesNoFacts stops the Echo while a stream is read, and checks that this is not mistaken for a fact about the path.
func TestRun_echoThatGoesMakesNoFacts(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	var gone atomic.Bool
	proxy := proxyTo(address, nothing)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/-/sse" && !gone.Load() {
			proxy.ServeHTTP(w, r)
			return
		}
		if !gone.Swap(true) {
			ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
			defer cancel()
			proxy.ServeHTTP(w, r.WithContext(ctx))
		}
		panic(http.ErrAbortHandler)
	}))
	report := check(t, Options{URL: url, Groups: []string{"response"}})
	if report.fact("response.stream") != nil || len(report.NotTested) == 0 {
		t.Errorf("the verdict is %s", report.Verdict())
	}
}

// TestRunGroups_unfinished checks which errors leave work for another run.
func TestRunGroups_unfinished(t *testing.T) {
	k := &probe.Known{Plain: &wire.Response{}}
	for want, end := range map[bool]func(*probe.Group) error{
		true:  func(*probe.Group) error { return errors.New("the Echo no longer responds") },
		false: func(g *probe.Group) error { g.Skip("body", "the URL does not use HTTPS"); return nil },
	} {
		report := &Report{}
		runGroups(t.Context(), []group{{name: "body", needs: probe.Nothing,
			examine: func(_ context.Context, g *probe.Group) error {
				g.Add(probe.NewFact("a", probe.Yes, "", ""))
				return end(g)
			}}}, report, func() *probe.Group { return &probe.Group{Known: k} })
		v, invalid := verdict.Decode(string(report.Verdict()))
		if invalid != nil || (v.Unfinished != "") != want || v.Facts != 1 {
			t.Errorf("%t: %+v, %v", want, v, invalid)
		}
	}
}
