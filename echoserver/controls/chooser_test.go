package controls

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// chosen returns the controls for a request, which may have headers, if there are no defaults.
func chosen(policy Policy, target string, headers ...string) (Controls, error) {
	return chooserOf(policy, Controls{}, nil).For(requestFor(target, headers...), Echo)
}

func chooserOf(policy Policy, defaults Controls, faults []Fault) *Chooser {
	return NewChooser(policy, defaults, faults, func(*http.Request) string { return "" })
}

func requestFor(target string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// parsedFaults returns the faults in the elements of a JSON list.
func parsedFaults(t *testing.T, elements string) []Fault {
	t.Helper()
	faults, err := ParseFaults("[" + elements + "]")
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// TestChooser_findsControls looks for controls in queries and headers.
func TestChooser_findsControls(t *testing.T) {
	for name, c := range map[string]struct {
		policy  Policy
		target  string
		headers []string
		applied string
	}{
		"none":                  {Safe, "/?echo=1&xecho.status=500", nil, ""},
		"by header":             {Safe, "/", []string{"X-Echo-Status", "418"}, "status=418"},
		"the query goes first":  {Safe, "/?echo.status=503", []string{"X-Echo-Status", "418"}, "status=503"},
		"a malformed parameter": {Safe, "/?x=%zz&echo.status=503&y=1;2", nil, "status=503"},
		"an escaped name":       {Safe, "/?%65cho%2Estatus=503", nil, "status=503"},
		"among many parameters": {Safe, "/?" + strings.Repeat("a=1&", 9999) + "echo.status=503", nil, "status=503"},
		"headers by query": {Safe, "/?echo.set-header=x-a:1,2&echo.set-header=x-b:%202", nil,
			"set-header=X-A, set-header=X-B"},
		"an empty list":              {Safe, "/", []string{"X-Echo-Set-Header", "", "X-Echo-Set-Header", ""}, ""}, // of the conformance suite
		"an empty list of Full":      {Full, "/", []string{"X-Echo-Set-Header", " , ,\t", "X-Echo-Set-Header", ",,,,"}, ""},
		"Full: a login of a proxy":   {Full, "/?echo.status=407", nil, "status=407"},
		"Full: a redirect elsewhere": {Full, "/?echo.set-header=Location:https://example.org/", nil, "set-header=Location"},
		"None":                       {None, "/?echo.status=503", []string{"X-Echo-Status", "418"}, ""},
	} {
		if got, err := chosen(c.policy, c.target, c.headers...); err != nil || got.Applied().String() != c.applied {
			t.Errorf("%s: got %s, %v, want %s", name, got.Applied(), err, c.applied)
		}
	}
	got, err := chosen(Safe, "/?echo.set-header=x-a:1,2&echo.set-header=x-b:%202")
	if diff := cmp.Diff([]Header{{"X-A", "1,2"}, {"X-B", "2"}}, got.Headers); diff != "" || err != nil {
		t.Errorf("the headers: %v (-want +got):\n%s", err, diff)
	}
}

func TestChooser_rejectsInvalidControls(t *testing.T) {
	for target, why := range map[string]string{
		"/?echo.status=199":                   `echo.status: "199" is not a whole number from 200 to 599`,
		"/?echo.status=200&echo.status=201":   "echo.status: specified more than once",
		"/?echo.delay=31s":                    `echo.delay: "31s" is not a duration from 0s to 30s, such as 500ms`,
		"/?echo.delay=2s-1s":                  `"2s-1s" is neither a duration from 0s to 30s nor a range such as 100ms-2s`,
		"/?echo.delay=1s-31s":                 "echo.delay: ",
		"/?echo.percentage=0&echo.status=503": `echo.percentage: "0" is not a whole number from 1 to 100`,
		"/?echo.percentage=30":                "percentage requires another control, such as status=503",
		"/?echo.failures=1001":                `echo.failures: "1001" is not a whole number from 1 to 1000`,
		"/?echo.connection=reset":             "on a private network, spec.server.controls: Full (ECHO_CONTROLS=Full) allows it",
		"/?echo.status=407": "407 requests a login; on a private network, spec.server.controls: Full " +
			"(ECHO_CONTROLS=Full) allows it",
		"/?echo.size=16777217":                            `echo.size: "16777217" is not a whole number from 0 to 16777216`,
		"/?echo.format=xml":                               `echo.format: "xml" is not json, text, or html`,
		"/?echo.stauts=200":                               "echo.stauts: unknown control: the controls are status, delay, set-header, ",
		"/?echo.set-header=content-type:text/plain;a=b":   "the query has controls but cannot be parsed",
		"/?echo.set-header=nothing":                       `echo.set-header: "nothing" is not a header such as X-Color: blue`,
		"/?echo.set-header=a%20b:1":                       `"a b" is not a header name`,
		"/?echo.set-header=X-A:1%0d%0aX-B:2":              "the value of X-A contains a control character",
		"/?echo.set-header=content-type:text/html":        `the Content-Type "text/html" is not one of application/json, `,
		"/?echo.set-header=content-type:text/plain%3Bx=y": "is not one of",
		"/?echo.status=511":                               "511 requests a login",
		"/?echo.early-hints=true":                         "a request cannot cause a response with status 103",
		"/?echo.handshake=true":                           "echo.handshake: does not apply to this path",
	} {
		if _, err := chosen(Safe, target); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", target, err, why)
		}
	}
	for _, headers := range [][]string{{"X-Echo-Delay", "soon"}, {"X-Echo-Set-Header", "", "X-Echo-Set-Header", "nothing"}} {
		if _, err := chosen(Safe, "/", headers...); err == nil || !strings.HasPrefix(err.Error(), headers[0]+": ") {
			t.Errorf("%q: %v", headers, err)
		}
	}
	if _, err := chosen(Safe, "/?echo.percentage=50", "X-Echo-Percentage", "30"); err == nil {
		t.Error("only percentage, by query and by header, is accepted")
	}
	for target, why := range map[string]string{
		"/?echo.connection=close":                 `echo.connection: "close" is neither reset nor truncate`,
		"/?echo.connection=reset&echo.status=503": "connection reset sends no response, so it cannot be combined with status",
		"/?echo.set-header=Set-Cookie:a=b":        "Set-Cookie cannot be set",
	} {
		if _, err := chosen(Full, target); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("under Full, %s: %v, want %s", target, err, why)
		}
	}
}

// TestChooser_rejectsForbiddenHeaders tries to set each forbidden header in several spellings, in both ways and as a default header.
func TestChooser_rejectsForbiddenHeaders(t *testing.T) {
	const framing, trust = "it belongs to the connection", "cannot be set by a request"
	for name, why := range map[string]string{
		"Connection": framing, "Content-Length": framing, "Keep-Alive": framing, "Proxy-Authenticate": framing, "Proxy-Authorization": framing,
		"Proxy-Connection": framing, "TE": framing, "Trailer": framing, "Transfer-Encoding": framing, "Upgrade": framing,
		"Alt-Svc": trust, "Clear-Site-Data": trust, "Content-Security-Policy": trust, "Content-Security-Policy-Report-Only": trust, "NEL": trust,
		"Report-To": trust, "Reporting-Endpoints": trust, "Service-Worker-Allowed": trust, "Set-Cookie": trust, "Set-Cookie2": trust,
		"Strict-Transport-Security": trust, "Timing-Allow-Origin": trust, "X-Content-Type-Options": trust, "X-Echo-Applied": trust,
		"Access-Control-Allow-Origin": trust, "Access-Control-Allow-Credentials": trust, "Access-Control-Anything": trust,
		"Cross-Origin-Opener-Policy": trust, "Cross-Origin-Resource-Policy": trust,
	} {
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name), " " + name + " "} {
			_, byQuery := chosen(Safe, "/?echo.set-header=X-A:1&echo.set-header="+url.QueryEscape(spelling+": 1"))
			_, byHeader := chosen(Safe, "/", "X-Echo-Set-Header", "X-A: 1,"+spelling+": 1")
			for way, err := range map[string]error{"query": byQuery, "header": byHeader} {
				if err == nil || !strings.Contains(err.Error(), http.CanonicalHeaderKey(name)+" cannot be set") || !strings.Contains(err.Error(), why) {
					t.Errorf("%q by %s: %v", spelling, way, err)
				}
			}
		}
		headers, err := ParseDefaultHeaders(`[{"name":"` + strings.ToLower(name) + `","value":"1"}]`)
		if isFraming := why == framing; (err != nil) != isFraming || (len(headers) == 1) == isFraming {
			t.Errorf("%s as a default: %v, %v", name, headers, err)
		}
	}
}

// TestChooser_needsFull sets the headers that the Gateway API conformance suite sets. Safe must reject them, and name the setting that
// allows them. Full must allow them, and names that resemble forbidden ones.
func TestChooser_needsFull(t *testing.T) {
	conformance := []string{"Header-Add", "Some-Other-Header", "Another-Header", "X-Header-Set", "X-Header-Add", "X-Header-Remove",
		"X-Header-Set-2", "X-Header-Add-2", "X-Header-Remove-1", "X-Header-Echo", "x-header-set"}
	resembling := []string{"Connections", "X-Connection", "Content-Lengths", "Set-Cookie3", "X-Set-Cookie", "Access-Control",
		"X-Access-Control-Allow-Origin", "Cross-Origin", "Keep", "Retry-After", "Location", "Server", "Content-Language", "X-Echo-Status",
		"Www-Authenticate"}
	for i, name := range append(conformance, resembling...) {
		if _, err := chosen(Safe, "/", "X-Echo-Set-Header", name+":val"); i < len(conformance) &&
			(err == nil || !strings.Contains(err.Error(), "on a private network, spec.server.controls: Full (ECHO_CONTROLS=Full) allows it")) {
			t.Errorf("%s under Safe: %v", name, err)
		}
		full, err := chosen(Full, "/", "X-Echo-Set-Header", name+":val")
		if err != nil || !slices.Equal(full.Headers, []Header{{http.CanonicalHeaderKey(name), "val"}}) {
			t.Errorf("%s under Full: %v, %v", name, full.Headers, err)
		}
	}
}

// TestChooser_preventsCachingIfControlled sends requests to a server whose default headers let caches store its responses.
func TestChooser_preventsCachingIfControlled(t *testing.T) {
	own := Controls{Headers: []Header{{"cache-control", "max-age=60"}, {"Surrogate-Control", "max-age=60"}, {"X-B", "1"}}}
	fault := `{"statusCode":503}`
	for name, c := range map[string]struct {
		policy         Policy
		faults, target string
		headers        []string
		cached         bool
	}{
		"no control":                        {Safe, "", "/", nil, true},
		"a control":                         {Safe, "", "/?echo.status=404", nil, false},
		"a control by a header":             {Safe, "", "/", []string{"X-Echo-Format", "text"}, false},
		"a control that does not apply":     {Safe, "", "/?echo.percentage=1&echo.status=503", nil, false},
		"a control that is off":             {None, "", "/?echo.status=404", nil, true},
		"a fault of the settings":           {Safe, fault, "/", nil, true},
		"a control next to a default fault": {Safe, fault, "/?echo.format=text", nil, false},
	} {
		chooser := chooserOf(c.policy, own, parsedFaults(t, c.faults))
		chooser.Random = func(int64) int64 { return 99 }
		got, err := chooser.For(requestFor(c.target, c.headers...), Echo)
		want := own.Headers
		if !c.cached {
			want = []Header{{"X-B", "1"}}
		}
		if diff := cmp.Diff(want, got.Headers); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestChooser_limitsHeaders(t *testing.T) {
	many := func(n int, separator string) string {
		return strings.TrimSuffix(strings.Repeat("X-A:1"+separator, n), separator)
	}
	for name, c := range map[string]struct {
		target string
		list   string
		ok     bool
	}{
		"32 by header":            {"/", many(32, ","), true},
		"32 of both":              {"/?" + strings.Repeat("echo.set-header=X-B:1&", 16), many(16, ","), true},
		"33 of both":              {"/?" + strings.Repeat("echo.set-header=X-B:1&", 16), many(17, ","), false},
		"8 KiB":                   {"/", "X-A:" + strings.Repeat("x", 8<<10-4), true},
		"more than 8 KiB":         {"/", "X-A:" + strings.Repeat("x", 8<<10-3), false},
		"more than 8 KiB of both": {"/?echo.set-header=X-B:" + strings.Repeat("x", 4<<10), "X-A:" + strings.Repeat("x", 4<<10), false},
		"60 KiB of commas":        {"/", "A:b" + strings.Repeat(",", 60<<10), false},
	} {
		var headers []string
		if c.list != "" {
			headers = []string{"X-Echo-Set-Header", c.list}
		}
		_, err := chosen(Safe, c.target, headers...)
		if c.ok != (err == nil) || !c.ok && !strings.Contains(err.Error(), "a request can set up to 32 headers with a total of 8192 bytes") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestChooser_rejectsWithShortReason sends 60 KiB values, which the errors must not repeat.
func TestChooser_rejectsWithShortReason(t *testing.T) {
	long := strings.Repeat("\x01", 20<<10)
	for _, query := range []url.Values{{"echo.status": {long}}, {"echo.delay": {long}}, {"echo.delay": {"1s-" + long}}, {"echo.size": {long}},
		{"echo.format": {long}}, {"echo." + long: {"1"}}, {"echo.percentage": {long}}, {"echo.connection": {long}},
		{"echo.set-header": {long[:8000]}}, {"echo.set-header": {long[:8000] + ":1"}}, {"echo.set-header": {strings.Repeat("A", 8000) + ":1"}},
		{"echo.set-header": {strings.Repeat("A", 8000) + ":\x01"}}, {"echo.set-header": {"Location:/" + strings.Repeat("é", 4000)}},
		{"echo.set-header": {"Content-Type:" + strings.Repeat("é", 4000)}}} {
		if _, err := chosen(Safe, "/?"+query.Encode()); err == nil || len(err.Error()) > 900 {
			t.Errorf("the reason is %.1000v", err)
		}
	}
}

// TestChooser_rejectsRiskyHeaders sets headers that could make a proxy, a cache, or a browser affect other clients.
func TestChooser_rejectsRiskyHeaders(t *testing.T) {
	for text, allowed := range map[string]bool{
		"X-A: 1": true, "X-Color: blue": true, "X-1: 1": true, "X-Test-Cache-Control: 1": true, "X-Custom-Color: 1": true,
		"X-My-Color: 1":      true,
		"X-Example-A-B-C: 1": true, "Retry-After: 7": true, "Content-Language: de": true, "Content-Type: text/csv": true,
		"Location: /": true, "Location: /shop?a=b#c": true,

		"Cache-Control: max-age=60": false, "Vary: Cookie": false, "Surrogate-Key: a": false, "CDN-Cache-Control: max-age=60": false,
		"X-Accel-Redirect: /internal": false, "X-Sendfile: /etc/passwd": false, "X-Litespeed-Location: /": false, "X-Cache: HIT": false,
		"X-Envoy-Immediate-Health-Check-Fail: 1": false, "X-Json: alert(1)": false, "X-Nextjs-Redirect: /": false, "X-Amz-Meta-A: 1": false,
		"X-Robots-Tag: noindex": false, "X-Frame-Options: DENY": false, "X-Forwarded-For: 1": false, "X-Two-Words: 1": false, "X-: 1": false,
		"X-A_b: 1": false, "X-A.b: 1": false, "X: 1": false, "X-Tests-A: 1": false, "X-Echo-Status: 1": false, "X-Robots: 1": false,
		"Refresh: 0;url=//evil": false, "Www-Authenticate: Basic": false, "Content-Location: /": false, "Link: </a>; rel=preload": false,
		"Server: a": false, "Etag: 1": false, "Content-Encoding: gzip": false,

		"Location: https://evil.example/": false, "Location: //evil.example/": false, "Location: /a//b": false, `Location: /\evil.example`: false,
		`Location: \\evil`: false, "Location: /\t/evil.example": false, "Location: a": false, "Location: /a b": false, "Location:": false,
		"Location: /é":                  false,
		"Location: javascript:alert(1)": false, "Content-Type: text/html": false, "Set-Cookie: a=b": false,
	} {
		byQuery, queryErr := chosen(Safe, "/?echo.set-header="+url.QueryEscape(text))
		byHeader, headerErr := chosen(Safe, "/", "X-Echo-Set-Header", text)
		if allowed != (queryErr == nil) || allowed != (headerErr == nil) {
			t.Errorf("%s: %v, %v", text, queryErr, headerErr)
		}
		name, value, _ := strings.Cut(text, ":")
		want := []Header{{name, strings.TrimSpace(value)}}
		if allowed && (!slices.Equal(byQuery.Headers, want) || !slices.Equal(byHeader.Headers, want)) {
			t.Errorf("%s: the headers are %v and %v", text, byQuery.Headers, byHeader.Headers)
		}
	}
}

// rolls returns a function that returns the given numbers in turn instead of random numbers.
func rolls(numbers ...int64) func(int64) int64 {
	next := 0
	return func(int64) int64 {
		next++
		return numbers[(next-1)%len(numbers)]
	}
}

// TestChooser_injectsFaults sends several requests, and checks which controls apply to each.
func TestChooser_injectsFaults(t *testing.T) {
	const a, b = `{"percentage":30,"statusCode":503}`, `{"percentage":50,"statusCode":504}`
	for name, c := range map[string]struct {
		faults  string
		rolls   []int64
		targets []string
		want    []string // the applied controls
	}{
		"a percentage": {a, []int64{29, 30, 0, 99}, []string{"/", "/", "/", "/"},
			[]string{"status=503, fault=0", "", "status=503, fault=0", ""}},
		"the first that applies": {a + "," + b, []int64{30, 49, 0, 99, 50}, []string{"/", "/", "/"},
			[]string{"status=504, fault=1", "status=503, fault=0", ""}},
		"a format of the request": {`{"statusCode":503}`, nil, []string{"/?echo.format=text"},
			[]string{"status=503, format=text, fault=0"}},
		"two failures": {`{"statusCode":503,"failures":2}`, nil, []string{"/", "/", "/", "/?x", "/"},
			[]string{"status=503, fault=0", "status=503, fault=0", "", "status=503, fault=0", ""}},
		"a percentage of requests": {"", []int64{30, 29},
			[]string{"/?echo.percentage=30&echo.status=502&echo.format=text", "/?echo.percentage=30&echo.status=502"},
			[]string{"", "status=502, percentage=30"}},
		"failures on request": {"", nil, []string{"/?echo.failures=1", "/?echo.failures=1", "/?echo.failures=1&x"},
			[]string{"status=503, failures=1", "", "status=503, failures=1"}},
		"failures next to a format": {"", nil, []string{"/?echo.failures=1&echo.format=text"},
			[]string{"status=503, format=text, failures=1"}},
		"no fault of the settings":   {`{"statusCode":504}`, []int64{99}, []string{"/?echo.percentage=30&echo.status=503"}, []string{""}},
		"a delay of zero is a delay": {`{"delayMilliseconds":0}`, nil, []string{"/"}, []string{"fault=0"}},
	} {
		chooser := chooserOf(Safe, Controls{}, parsedFaults(t, c.faults))
		chooser.Random = rolls(c.rolls...)
		var got []string
		for _, target := range c.targets {
			desired, err := chooser.For(requestFor(target), Echo)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, desired.Applied().String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestChooser_choosesDelay(t *testing.T) {
	for name, c := range map[string]struct {
		faults, target string
		want           time.Duration
	}{
		"a range":                 {`{"delayMilliseconds":100,"maxDelayMilliseconds":2000}`, "/", 100*time.Millisecond + 7},
		"up to a delay":           {`{"maxDelayMilliseconds":2000}`, "/", 7},
		"instead of the default":  {`{"delayMilliseconds":0}`, "/", 0},
		"the default":             {`{"statusCode":503}`, "/", 5 * time.Second},
		"a range of a request":    {`{"delayMilliseconds":100}`, "/?echo.delay=1s-3s", time.Second + 7},
		"a delay against a range": {`{"maxDelayMilliseconds":100}`, "/?echo.delay=1s", time.Second},
	} {
		chooser := chooserOf(Safe, Controls{Delay: 5 * time.Second}, parsedFaults(t, c.faults))
		chooser.Random = rolls(7)
		if got, err := chooser.For(requestFor(c.target), Echo); err != nil || got.Delay != c.want {
			t.Errorf("%s: the delay is %s, %v, want %s", name, got.Delay, err, c.want)
		}
	}
}
