package pathcheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// hostile is a string that must be harmless wherever it is displayed.
const hostile = "<script>alert(1)</script>\"' onload=x \x1b[31m\n{{.}} \u202e"

// expect returns the expectation that a fact has a value.
func expect(fact, value string) Expectation { return Expectation{Fact: fact, Values: []string{value}} }

func fullReport() *Report {
	r := &Report{Version: "v1", URL: "http://a/" + hostile, Address: "a:80", From: From{Host: hostile, Address: "192.0.2.1", Note: "a note"},
		Requests: 3, Took: "1s"}
	for i := range 100 {
		r.Facts = append(r.Facts, probe.NewFact(fmt.Sprintf("group%d.fact%d", i%7, i), hostile, hostile, hostile))
		r.Facts[i].Meaning = "what it means"
		r.NotTested = append(r.NotTested, probe.NotTested{Name: fmt.Sprintf("other%d", i), Reason: strings.Repeat("a reason ", 50)})
		r.Expected = append(r.Expected, Result{expect(fmt.Sprintf("fact%d", i), hostile), probe.Printable(hostile), false, ""},
			Result{expect(fmt.Sprintf("unknown%d", i), hostile), "", false, probe.Printable(hostile)})
	}
	return r
}

func TestReport_WriteHTML(t *testing.T) {
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
	for _, part := range []string{"&lt;script&gt;alert(1)", "group6.fact6", "what it means", "other99", "fact99", "unknown: &lt;script",
		"a note",
		"default-src &#39;none&#39;"} {
		if !strings.Contains(page, part) && !strings.Contains(page, strings.ReplaceAll(part, "&#39;", "'")) {
			t.Errorf("the page does not contain %q", part)
		}
	}
}

func TestReport_WriteText(t *testing.T) {
	var b strings.Builder
	if err := fullReport().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") || !strings.Contains(b.String(), "group6.fact6") ||
		!strings.Contains(b.String(), "FAILED") {
		t.Errorf("the text is %.2000q", b.String())
	}
}

// TestReport_Verdict checks that a verdict fits into a termination message and contains the expected parts of a report.
func TestReport_Verdict(t *testing.T) {
	for name, r := range map[string]*Report{"full": fullReport(), "a problem": {Problem: strings.Repeat("x", 10_000)},
		"many facts": {Facts: fullReport().Facts}} {
		data := r.Verdict()
		v, err := verdict.Decode(string(data))
		if err != nil || len(data) > 4000 || v.Facts != len(r.Facts) || len(v.Failed) == 0 && len(r.Expected) > 0 {
			t.Errorf("%s: %d bytes, %v: %+v", name, len(data), err, v)
		}
	}
	few := &Report{Facts: []probe.Fact{probe.NewFact("request.host", probe.Kept, "", "")},
		Expected: []Result{{expect("request.host", probe.Kept), probe.Kept, true, ""}, {expect("a", "b"), "", false, "errors"},
			{expect("c", "d"), "e", false, ""}},
		NotTested: []probe.NotTested{{Name: "tls", Reason: "no TLS"}, {Name: "body", Reason: "reset", Unfinished: true}}}
	want := `{"facts":1,"failed":[{"name":"c","want":"d","got":"e"}],"unknown":[{"name":"a","reason":"errors"}],"unfinished":"reset"}`
	if got := string(few.Verdict()); got != want {
		t.Errorf("the verdict is %s", got)
	}
}

// TestReport_Verdict_latency checks that two runs whose latencies differ but both exceed a bound have the same verdict, and that the
// verdict contains the values of other failures.
func TestReport_Verdict_latency(t *testing.T) {
	verdicts := map[string]bool{}
	for _, took := range []string{"61.20ms", "70.01ms"} {
		r := &Report{Facts: []probe.Fact{probe.NewFact("request.host", probe.Kept, "", ""), probe.Detail(probe.NewFact("latency.p99", took, "", "")),
			probe.Detail(probe.NewFact("tls.daysLeft", "13", "", "")), probe.NewFact("timeouts.response", "5s", "", "")}}
		r.finish([]Expectation{{Fact: "latency.p99", Operator: verdict.AtMost, Values: []string{"50ms"}},
			{Fact: "tls.daysLeft", Operator: verdict.AtLeast, Values: []string{"14"}},
			{Fact: "timeouts.response", Operator: verdict.AtLeast, Values: []string{"30s"}}})
		verdicts[string(r.Verdict())] = true
	}
	want := `{"facts":4,"failed":[{"name":"latency.p99","want":"\u003c=50ms","got":"another time"},` +
		`{"name":"tls.daysLeft","want":"\u003e=14","got":"13"},{"name":"timeouts.response","want":"\u003e=30s","got":"5s"}]}`
	if len(verdicts) != 1 || !verdicts[want] {
		t.Errorf("the verdicts are %v", verdicts)
	}
}

// TestReport_finish checks the reasons for unknown facts, and the exit codes.
func TestReport_finish(t *testing.T) {
	for name, c := range map[string]struct {
		report *Report
		fact   string
		reason string
		code   int
	}{
		"met":                  {&Report{}, "request.host", "", 0},
		"not met":              {&Report{}, "request.method", "", 1},
		"of the fact":          {&Report{}, "client.address", "of the fact", 3},
		"of the group":         {&Report{}, "client.proto", "of the group", 3},
		"of a member":          {&Report{}, "client.spoofable[X-Real-IP]", "of the member", 3},
		"of the whole":         {&Report{}, "client.address[a]", "of the fact", 3},
		"of another prefix":    {&Report{groups: []string{"outlierDetection"}}, "retries.reset", "of outlierDetection", 3},
		"no reason":            {&Report{}, "body.max", "the run did not report it", 3},
		"no Echo, and unknown": {&Report{Problem: "no response"}, "body.max", "the run did not report it", 1},
	} {
		r := c.report
		r.NotTested = []probe.NotTested{{Name: "client", Reason: "of the group"}, {Name: "client.address", Reason: "of the fact"},
			{Name: "client.spoofable[X-Real-IP]", Reason: "of the member"}, {Name: "outlierDetection", Reason: "of outlierDetection"}}
		r.Facts = []probe.Fact{probe.NewFact("request.host", probe.Kept, "", ""), probe.NewFact("request.method", probe.Changed, "", "")}
		r.finish([]Expectation{expect(c.fact, probe.Kept)})
		if r.Expected[0].Reason != c.reason || r.ExitCode() != c.code {
			t.Errorf("%s: %+v, the exit code is %d", name, r.Expected[0], r.ExitCode())
		}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil || strings.Contains(b.String(), "kept   unknown: "+c.reason+"\n") != (c.reason != "") {
			t.Errorf("%s: %v, %s", name, err, b.String())
		}
	}
	r := &Report{Facts: []probe.Fact{probe.NewFact("timeouts.response", ">30s", "", ""), probe.NewFact("body.max", "16Mi", "", ""),
		probe.NewFact("body.max.by", probe.None, "", ""), {Name: "request.url.size", Value: "4Ki", Refused: "8Ki"}}}
	const timeouts, sizes = "the run tested no more than 30s", "the run tested no more than 16Mi"
	for text, want := range map[string]Result{"timeouts.response>=30s": {OK: true}, "timeouts.response<=20s": {}, "body.max>=16Mi": {OK: true},
		"timeouts.response>=60s": {Reason: timeouts}, "timeouts.response<=60s": {Reason: timeouts}, "body.max>=20Mi": {Reason: sizes},
		"body.max<=20Mi": {Reason: sizes}, "body.max<=10Mi": {}, "body.max=16Mi": {OK: true}, "request.url.size>=4Ki": {OK: true},
		"request.url.size>=5Ki": {Reason: "the run tests nothing between 4Ki and 8Ki"}, "request.url.size>=8Ki": {}, "request.url.size>=8192": {}, "request.url.size<=4Ki": {OK: true}} {
		e, err := verdict.ParseExpectation(text)
		if r.Expected = nil; err != nil {
			t.Fatal(err)
		}
		r.finish([]Expectation{e})
		if got := r.Expected[0]; got.OK != want.OK || got.Reason != want.Reason {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	both := &Report{Facts: []probe.Fact{probe.NewFact("request.method", probe.Changed, "", "")},
		NotTested: []probe.NotTested{{Name: "path", Reason: "of the run"}}}
	both.finish([]Expectation{expect("body.max", "1Mi"), expect("request.method", probe.Kept)})
	if both.ExitCode() != 1 || both.Expected[0].Reason != "of the run" {
		t.Errorf("an unmet and an unknown expectation: %+v, the exit code is %d", both.Expected, both.ExitCode())
	}
}

// TestReport_pinned checks that the expectations for all groups that are not opt-in fit into one check, and that a second run meets them.
func TestReport_pinned(t *testing.T) {
	folder := t.TempDir()
	writeCertificate(t, folder)
	_, secure := startEcho(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+folder, "ECHO_CONTROLS=Full")
	first := check(t, Options{URL: "https://" + secure})
	names, coarse := map[string]bool{}, 0
	for _, each := range first.Facts {
		if names[each.Name] {
			t.Errorf("%s occurs twice", each.Name)
		}
		if names[each.Name] = true; !each.Detail {
			coarse++
		}
	}
	if pinned := first.pinned(); len(pinned) != coarse || coarse > maxPinned || len(first.NotTested) > 0 {
		t.Errorf("%d of %d facts can be pinned; not tested: %v", len(pinned), coarse, first.NotTested)
	}
	if first.Requests > wire.MaxRequests*2/3 || first.Bytes > wire.MaxBytes*9/10 {
		t.Errorf("the run sent %d requests and %d bytes", first.Requests, first.Bytes)
	}
	second := check(t, Options{URL: "https://" + secure, Expect: first.pinned()})
	if second.ExitCode() != 0 || len(second.Expected) != coarse {
		t.Errorf("the second run expects %+v", second.Expected)
	}
}

func TestReport_WriteExpect(t *testing.T) {
	few := &Report{groups: []string{"client", "tls"}, NotTested: []probe.NotTested{{Name: "tls", Reason: "the URL does not use HTTPS"}},
		Facts: []probe.Fact{
			probe.NewFact("client.removable", probe.NotFound, "", ""), probe.NewFact("body.max", "1Mi", "", ""), probe.NewFact("client.address.by", `a "b\c" <d>`, "", ""),
			probe.NewFact("timeouts.response", ">30s", "", ""),
			probe.Detail(probe.NewFact("latency.p50", "1ms", "", "")), probe.NewFact("request.host", ">=1", "", ""),
			probe.NewFact("request.path", "<1Mi", "", ""), probe.NewFact("tls.name", "a|b", "", "")}}
	want := `# tls was not tested: the URL does not use HTTPS
groups: [client, tls]
expect:
- {fact: "client.removable", values: ["not found"]}
- {fact: "body.max", operator: AtLeast, values: ["1Mi"]}
- {fact: "client.address.by", values: ["a \"b\\c\" <d>"]}
- {fact: "timeouts.response", values: [">30s"]}
`
	var b strings.Builder
	if err := few.WriteExpect(&b); err != nil || b.String() != want {
		t.Errorf("%v:\n%s", err, b.String())
	}
	many := &Report{}
	for i := range 65 {
		many.Facts = append(many.Facts, probe.NewFact(fmt.Sprintf("fact%d", i), probe.Kept, "", ""))
	}
	b.Reset()
	if err := many.WriteExpect(&b); err == nil || !strings.Contains(err.Error(), "--groups") || b.Len() > 0 {
		t.Errorf("%d facts: %v, %s", len(many.Facts), err, b.String())
	}
	many.Facts = many.Facts[:64]
	if err := many.WriteExpect(&b); err != nil || strings.Count(b.String(), "\n") != 65 {
		t.Errorf("%d facts: %v, %s", len(many.Facts), err, b.String())
	}
	b.Reset()
	if err := (&Report{Problem: "no response"}).WriteExpect(&b); err != nil || b.String() != "# nothing was tested: no response\n" {
		t.Errorf("a problem: %v, %s", err, b.String())
	}
}
