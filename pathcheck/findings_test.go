package pathcheck

import (
	"net/http/httputil"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// TestFactTable_explainsBadValues checks that each fact that can have a bad value has an explanation, and that its patterns are valid.
func TestFactTable_explainsBadValues(t *testing.T) {
	for _, d := range FactTable() {
		regexp.MustCompile(d.Good + d.Bad)
		if hasBad := d.Bad != ""; d.Meaning == "" || hasBad != (d.Problem != "") || hasBad != (d.Rank > 0) || hasBad != (len(d.Settings) > 0) ||
			strings.Contains(strings.ReplaceAll(d.Problem, "{value}", ""), "{") {
			t.Errorf("%+v", d)
		}
	}
}

func TestReport_judge(t *testing.T) {
	fact := func(name, value string) Fact { return probe.NewFact(name, value, "", "received") }
	r := &Report{URL: "http://a/", Facts: []Fact{fact("request.host", "changed"), fact("request.version", "HTTP/1.1"), fact("client.proto", "not reported"),
		fact("client.spoofable[X-Forwarded-For]", "yes"), fact("client.spoofable[Forwarded]", "yes"),
		probe.Detail(fact("client.spoofable[X-Real-IP]", "yes")), fact("client.address", "replaced"), fact("tls.daysLeft", "13"),
		fact("body.max", "16Mi"), fact("response.status", "replaced 404,503"), fact("tls.cipher", "TLS_AES_128_GCM_SHA256")}}
	r.finish([]Expectation{expect("client.address", "replaced")})
	r.judge()
	var problems, marks []string
	for _, each := range r.Findings {
		problems = append(problems, each.Problem)
	}
	for _, each := range r.Facts {
		marks = append(marks, each.Mark)
	}
	for i, want := range []string{"can choose what these headers report: X-Forwarded-For, Forwarded. An", "expires in 13 days", "Host does not",
		"replaces error responses of the application (replaced 404,503)"} {
		if len(problems) != 4 || !strings.Contains(problems[i], want) {
			t.Errorf("the problems are %q, want %q", problems, want)
		}
	}
	if got := strings.Join(marks, " "); got != "bad good  bad bad   bad good bad " {
		t.Errorf("the marks are %q", got)
	}
	if got := r.Findings[0].Facts; len(got) != 2 || got[0] != "client.spoofable[X-Forwarded-For]=yes (received)" {
		t.Errorf("the facts are %q", got)
	}
}

// TestReport_WriteText_fitsOnAScreen checks that a report is short if nothing is wrong.
func TestReport_WriteText_fitsOnAScreen(t *testing.T) {
	address, _ := startEcho(t)
	url := serve(t, proxyTo(address, func(r *httputil.ProxyRequest) {
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
			r.Out.Header.Del(name)
		}
		r.Out.Header.Set("X-Forwarded-For", client127)
		r.Out.Header.Set("X-Forwarded-Proto", "http")
	}))
	report := check(t, Options{URL: url})
	var b strings.Builder
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); len(report.Findings) > 0 || lines > 40 || len(report.Facts) < 60 ||
		!strings.Contains(b.String(), "client.spoofable=not found: X-Forwarded-For Forwarded X-Forwarded-Host X-Forwarded-Proto,") {
		t.Errorf("%d lines:\n%s", lines, &b)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > width+1 {
			t.Errorf("a line has %d bytes: %s", len(line), line)
		}
	}
}

// TestShowProgress writes to the null device, which is a character device like a terminal, and to a file, which is not.
func TestShowProgress(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []*os.File{null, file} {
		stopped := make(chan struct{})
		go func() {
			showProgress(each, wire.NewLimits())()
			close(stopped)
		}()
		select {
		case <-stopped:
		case <-time.After(time.Minute):
			t.Error("the progress does not stop")
		}
	}
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("a file has %d bytes of progress: %v", info.Size(), err)
	}
}
