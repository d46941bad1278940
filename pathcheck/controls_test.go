package pathcheck

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// TestRun_replacedRefusal checks that an Echo that rejects a control is not mistaken for an Echo that allows the control, even if the path
// replaces error pages.
func TestRun_replacedRefusal(t *testing.T) {
	address, _ := startEcho(t)
	pages := changesResponses(func(r *http.Response) error {
		if r.StatusCode == http.StatusBadRequest {
			r.Header.Del(proof.ResponseHeader)
			r.StatusCode = http.StatusBadGateway
		}
		return nil
	})
	if report := check(t, Options{URL: serve(t, pages(address)), Groups: []string{"response"}}); report.Problem != "" ||
		report.fact("response.earlyHints") != nil {
		t.Errorf("the report is %+v", report)
	}
}

// reasonFor returns the reason why a group or a fact was not tested, or "" if it was.
func reasonFor(r *Report, name string) string {
	for _, each := range r.NotTested {
		if each.Name == name {
			return each.Reason
		}
	}
	return ""
}

// TestRun_reasons checks that a report names a setting of the Echo as the reason only if the setting is the reason.
func TestRun_reasons(t *testing.T) {
	withoutQuery := changes(func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = "" })
	for name, c := range map[string]struct {
		environ          string
		proxy            func(string) http.Handler
		request, retries string // the reasons why these groups are not tested
	}{
		"a fixed body": {environ: "ECHO_RESPONSE_BODY=hello", proxy: changes(nothing), request: "a fixed body (spec.response.body), or a proxy"},
		"no body":      {environ: "ECHO_RESPONSE_STATUS=204", proxy: changes(nothing), request: "no body (status 204)"},
		"no controls":  {environ: "ECHO_CONTROLS=None", proxy: changes(nothing), retries: "(spec.server.controls: None)"},
		"neither": {environ: "ECHO_CONTROLS=None ECHO_RESPONSE_BODY=hello", proxy: changes(nothing), request: "a fixed body",
			retries: "because of spec.server.controls: None or a proxy"},
		"compression that was not requested": {proxy: changesResponses(alwaysCompress), request: "arrive with Content-Encoding: gzip"},
		"the query is dropped":               {proxy: withoutQuery, retries: "a proxy removes controls from the query"},
		"controls are refused": {proxy: refuseIf(403, func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "echo.") }),
			retries: "a proxy does not forward requests with controls: a proxy responds with 403 itself"},
		"X-Echo-Applied is removed": {proxy: changesResponses(func(r *http.Response) error {
			r.Header.Del("X-Echo-Applied")
			return nil
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := startEcho(t, strings.Fields(c.environ)...)
			report := check(t, Options{URL: serve(t, c.proxy(address)), Groups: []string{"request", "retries"}})
			for group, want := range map[string]string{"request": c.request, "retries": c.retries} {
				if got := reasonFor(report, group); !strings.Contains(got, want) || (got == "") != (want == "") {
					t.Errorf("%s: the reason is %q, want %q", group, got, want)
				}
			}
		})
	}
}

// TestRun_overMakesNoFacts ends runs early, and checks that the end is not mistaken for a fact about the path.
func TestRun_overMakesNoFacts(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	for group, fact := range map[string]string{"grpc": "grpc.stream", "response": "response.stream"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, overHTTP2(address)), Groups: []string{group}, Deadline: 1200 * time.Millisecond})
			v, err := verdict.Decode(string(report.Verdict()))
			if err != nil || report.fact(fact) != nil || v.Unfinished != verdict.DeadlinePassed {
				t.Errorf("the verdict is %s, %v", report.Verdict(), err)
			}
		})
	}
}

// TestRun_echoThatGoesMakesNoFacts stops the Echo while a stream is being read, and checks that the missing Echo is not mistaken for a fact
// about the path.
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
	for want, err := range map[bool]error{true: errors.New("the Echo no longer responds"),
		false: probe.NotApplicable("the URL does not use HTTPS")} {
		report := &Report{}
		runGroups(t.Context(), []group{{name: "body", needs: probe.Nothing,
			examine: func(_ context.Context, g *probe.Group) error {
				g.Add(probe.NewFact("a", probe.Yes, "", ""))
				return err
			}}}, report, func() *probe.Group { return &probe.Group{Known: k} })
		v, invalid := verdict.Decode(string(report.Verdict()))
		if invalid != nil || (v.Unfinished != "") != want || v.Facts != 1 {
			t.Errorf("%v: %+v, %v", err, v, invalid)
		}
	}
}
