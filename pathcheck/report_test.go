package pathcheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

// hostile is a text that must be harmless wherever it is shown.
const hostile = "<script>alert(1)</script>\"' onload=x \x1b[31m\n{{.}} \u202e"

func fullReport() *Report {
	r := &Report{Version: "v1", URL: "http://a/" + hostile, Address: "a:80", From: From{Host: hostile, Address: "192.0.2.1", Note: "a note"}, Requests: 3, Took: "1s"}
	for i := range 100 {
		r.Facts = append(r.Facts, newFact(fmt.Sprintf("group%d.fact%d", i%7, i), hostile, hostile, hostile, "what it means"))
		r.NotTested = append(r.NotTested, NotTested{Name: fmt.Sprintf("other%d", i), Reason: strings.Repeat("a reason ", 50)})
		r.Expected = append(r.Expected, Result{Expectation{fmt.Sprintf("fact%d", i), hostile}, printable(hostile), false})
	}
	return r
}

func TestReportHTML(t *testing.T) {
	var b strings.Builder
	if err := fullReport().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, forbidden := range []string{"<script", "src=", "href=", "http-equiv=\"refresh", "url("} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page contains %q", forbidden)
		}
	}
	for _, part := range []string{"&lt;script&gt;alert(1)", "group6.fact6", "what it means", "other99", "fact99", "a note", "default-src &#39;none&#39;"} {
		if !strings.Contains(page, part) && !strings.Contains(page, strings.ReplaceAll(part, "&#39;", "'")) {
			t.Errorf("the page does not contain %q", part)
		}
	}
}

func TestReportText(t *testing.T) {
	var b strings.Builder
	if err := fullReport().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") || !strings.Contains(b.String(), "group6.fact6") || !strings.Contains(b.String(), "FAILED") {
		t.Errorf("the text is %.2000q", b.String())
	}
}

// TestVerdict checks that a verdict has room in a termination message, and what remains of a report that is too long.
func TestVerdict(t *testing.T) {
	for name, r := range map[string]*Report{"full": fullReport(), "a problem": {Problem: strings.Repeat("x", 10_000)}, "empty": {},
		"many failures": {Expected: fullReport().Expected}, "many facts": {Facts: fullReport().Facts}} {
		data := r.Verdict()
		v, err := pathverdict.Decode(string(data))
		if name == "empty" || name == "many failures" {
			err = nil // no report is without facts or a problem
		}
		if err != nil || len(data) > 4000 || v.Expected != len(r.Expected) {
			t.Errorf("%s: %d bytes, %v: %+v", name, len(data), err, v)
		}
	}
	few := &Report{Facts: []Fact{newFact("request.host", kept, "", "", "m"), detail(newFact("latency.p50", "1ms", "", "", "m"))},
		Expected: []Result{{Expectation{"request.host", kept}, kept, true}, {Expectation{"a", "b"}, "", false}}, NotTested: []NotTested{{Name: "tls", Reason: "no TLS"}}}
	want := `{"facts":{"request.host":"kept"},"notTested":{"tls":"no TLS"},"failed":[{"name":"a","want":"b"}],"expected":2}`
	if got := string(few.Verdict()); got != want {
		t.Errorf("the verdict is %s", got)
	}
}

// TestVerdictOfALatency checks that two runs that measure different latencies above a bound say the same, and that what lasts is told.
func TestVerdictOfALatency(t *testing.T) {
	verdicts := map[string]bool{}
	for _, took := range []string{"61.20ms", "70.01ms"} {
		r := &Report{Facts: []Fact{newFact("request.host", kept, "", "", "m"), detail(newFact("latency.p99", took, "", "", "m")),
			detail(newFact("tls.daysLeft", "13", "", "", "m")), newFact("timeouts.answer", "5s", "", "", "m")}}
		r.finish([]Expectation{{"latency.p99", "<=50ms"}, {"tls.daysLeft", ">=14"}, {"timeouts.answer", ">=30s"}})
		verdicts[string(r.Verdict())] = true
	}
	want := `{"facts":{"request.host":"kept","timeouts.answer":"5s"},"failed":[{"name":"latency.p99","want":"\u003c=50ms","got":"another time"},` +
		`{"name":"tls.daysLeft","want":"\u003e=14","got":"13"},{"name":"timeouts.answer","want":"\u003e=30s","got":"5s"}],"expected":3}`
	if len(verdicts) != 1 || !verdicts[want] {
		t.Errorf("the verdicts are %v", verdicts)
	}
}

// TestVerdictHasRoom checks that the facts of all groups that are not opt-in have room in a verdict.
func TestVerdictHasRoom(t *testing.T) {
	folder := t.TempDir()
	writeCertificate(t, folder)
	_, secure := startEcho(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+folder, "ECHO_CONTROLS=Full")
	r := check(t, Options{URL: "https://" + secure})
	names, coarse := map[string]bool{}, 0
	for _, each := range r.Facts {
		if names[each.Name] {
			t.Errorf("%s is there twice", each.Name)
		}
		if names[each.Name] = true; !each.Detail {
			coarse++
		}
	}
	v, err := pathverdict.Decode(string(r.Verdict()))
	if err != nil || v.Truncated || !v.IsComplete() || len(r.NotTested) > 0 || len(v.Facts) != coarse {
		t.Errorf("%v: %d facts of %d bytes: %+v; not tested: %v", err, coarse, len(r.Verdict()), v, r.NotTested)
	}
	if r.Requests > maxRequests*2/3 || r.Bytes > maxBytes*9/10 {
		t.Errorf("it has sent %d requests and %d bytes", r.Requests, r.Bytes)
	}
}
