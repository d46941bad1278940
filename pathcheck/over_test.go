package pathcheck

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

// TestARunThatIsOverMakesNoFacts ends runs early, and expects that nothing is taken for what the way does.
func TestARunThatIsOverMakesNoFacts(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	for group, fact := range map[string]string{"grpc": "grpc.stream", "answer": "answer.stream"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, overHTTP2(address)), Groups: []string{group}, Deadline: 1200 * time.Millisecond})
			v, err := pathverdict.Decode(string(report.Verdict()))
			if err != nil || report.fact(fact) != nil || v.Unfinished != pathverdict.DeadlinePassed {
				t.Errorf("the verdict is %s, %v", report.Verdict(), err)
			}
		})
	}
}

// TestAnEchoThatGoesMakesNoFacts ends the Echo while a stream is read, and expects that nothing is taken for what the way does.
func TestAnEchoThatGoesMakesNoFacts(t *testing.T) {
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
	report := check(t, Options{URL: url, Groups: []string{"answer"}})
	if report.fact("answer.stream") != nil || len(report.NotTested) == 0 {
		t.Errorf("the verdict is %s", report.Verdict())
	}
}

// TestAGroupThatEndsMakesAVerdictIncomplete checks which reasons another run may not have.
func TestAGroupThatEndsMakesAVerdictIncomplete(t *testing.T) {
	k := &known{plain: &answer{}}
	for want, err := range map[bool]error{true: errors.New("the Echo does not respond any more"), false: notApplicable("the URL has no TLS")} {
		report := &Report{}
		runGroups(t.Context(), []member{{name: "body", needs: func(*known) string { return "" }, examine: func(_ context.Context, g *group) error {
			g.add(newFact("a", yes, "", "", ""))
			return err
		}}}, report, func() *group { return &group{known: k} })
		v, invalid := pathverdict.Decode(string(report.Verdict()))
		if invalid != nil || (v.Unfinished != "") != want || v.Facts != 1 {
			t.Errorf("%v: %+v, %v", err, v, invalid)
		}
	}
}

// TestReasonsOfTheNetworkAreTheSameInEachRun checks that no port and no address of a pod is in the reason why there is no response.
func TestReasonsOfTheNetworkAreTheSameInEachRun(t *testing.T) {
	local, remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 41618}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: local, Addr: remote, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, err := range map[string]error{
		"read: connection reset by peer":                reset,
		"TLS handshake: read: connection reset by peer": errors.Join(errHandshake, reset),
		"lookup a: no such host":                        &net.OpError{Op: "dial", Err: &net.DNSError{Name: "a", Err: "no such host", Server: "10.0.0.10:53"}},
		"DNS does not respond":                          &net.DNSError{Name: "a", Err: "read udp 10.0.0.9:5353->10.0.0.10:53: i/o timeout", IsTimeout: true},
	} {
		if got := networkReason(err); got != want || strings.Contains(got, "10.0") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
