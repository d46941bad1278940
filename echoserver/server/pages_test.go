package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

// directives returns the directives of a Content-Security-Policy by their names.
func directives(t *testing.T, policy string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for directive := range strings.SplitSeq(policy, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
		if _, again := found[name]; again {
			t.Errorf("%q has %s twice, of which browsers ignore the second", policy, name)
		}
		found[name] = value
	}
	return found
}

// digestOf returns the source expression for an element, found by another way than the program does.
func digestOf(t *testing.T, document, element string) string {
	t.Helper()
	all := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(document, -1)
	if len(all) != 1 {
		t.Fatalf("there are %d elements %s that a browser would run or apply", len(all), element)
	}
	digest := sha256.Sum256([]byte(all[0][1]))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// TestPolicies checks that browsers run and apply exactly what is in the pages.
func TestPolicies(t *testing.T) {
	for name, document := range map[string]string{"echo": echoPage, "WebSocket": webSocketPage} {
		want := map[string]string{"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'", "img-src": "data:",
			"connect-src": "'self'", "script-src": digestOf(t, document, "script"), "style-src": digestOf(t, document, "style")}
		if diff := cmp.Diff(want, directives(t, newPage(document).policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if blocked := regexp.MustCompile(`(?i)<[^>]*\s(on\w+|style|src)=|javascript:|<link [^>]*href="[^d]|eval\(`).FindString(document); blocked != "" {
			t.Errorf("the policy blocks %q in the page for %s", blocked, name)
		}
	}
}

func TestNewPage(t *testing.T) {
	for name, c := range map[string]struct{ document, head, tail string }{
		"a place":        {`<p id="data"></p>`, `<p id="data">`, `</p>`},
		"no place":       {`<p></p>`, `<p></p>`, ""},
		"the first of 2": {`<p id="data"></p><p id="data">`, `<p id="data">`, `</p><p id="data">`},
		"empty":          {"", "", ""},
	} {
		page := newPage(c.document)
		if page.head != c.head || page.tail != c.tail {
			t.Errorf("%s: split into %q and %q", name, page.head, page.tail)
		}
	}
	w, whole := httptest.NewRecorder(), newPage(`<p id="data"></p>`)
	if whole.serve(w); w.Body.String() != `<p id="data"></p>` || w.Header().Get("Content-Security-Policy") != whole.policy {
		t.Errorf("served is %q with %v", w.Body, w.Header())
	}
	if page := newPages().echo; !strings.HasSuffix(page.head, `<script type="application/json" id="data">`) || !strings.HasPrefix(page.tail, "</script>\n<script>") {
		t.Errorf("the page's data goes between %q and %q", page.head[len(page.head)-50:], page.tail[:50])
	}
}

// TestPageWithData puts text into a page that could end the data's element, and reads it again.
func TestPageWithData(t *testing.T) {
	page := newPage(`<script id="data"></script>`)
	for name, c := range map[string]struct{ text, forbidden string }{
		"plain":             {"hello", ""},
		"an end of element": {"</script><script>alert(1)</script>", "<>"},
		"a comment":         {"<!-- -->", "<>"},
		"an entity":         {"&lt;", "&"},
		"line separators":   {"a\u2028b\u2029c", "\u2028\u2029"},
		"quotes":            {`"'\`, ""},
	} {
		encoded, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := strings.CutPrefix(rendered(t, &page, encoded), page.head)
		got, ok2 := strings.CutSuffix(got, page.tail)
		if !ok || !ok2 || c.forbidden != "" && strings.ContainsAny(got, c.forbidden) {
			t.Errorf("%s: the page holds %q", name, got)
		}
		var read string
		if err := json.Unmarshal([]byte(got), &read); err != nil || read != c.text {
			t.Errorf("%s: read again it is %q, %v", name, read, err)
		}
	}
}

// TestPageReadsFieldsThatExist compares the names in the page's script with those of the response.
func TestPageReadsFieldsThatExist(t *testing.T) {
	var known map[string]any
	full := fullAnswer(t)
	if err := json.Unmarshal(full.compactJSON(false), &known); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`\becho\.([a-z]+)\b[^=]`).FindAllStringSubmatch(echoPage, -1) {
		used[match[1]] = true
	}
	groups := regexp.MustCompile(`const \{ (.*), \.\.\.place \} = echo;`).FindStringSubmatch(echoPage)
	if groups == nil || len(used) < 5 {
		t.Fatalf("the script reads %v and the groups %v", used, groups)
	}
	for name := range strings.SplitSeq(groups[1], ", ") {
		used[name] = true
	}
	for name := range used {
		if _, ok := known[name]; !ok && name != "format" { // the text without JavaScript names the parameter echo.format
			t.Errorf("the script reads %s, which no response has", name)
		}
	}
	for name, value := range known {
		if _, isGroup := value.(map[string]any); isGroup && !used[name] {
			t.Errorf("the response has the group %s, which the page does not show", name)
		}
	}
}

// TestPagesAreServed compares the pages with the files, and their policies with the headers.
func TestPagesAreServed(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		got := echotest.Send(t, client, http.MethodGet, server.URL+"/-/ws", "")
		if got.Text != webSocketPage || got.Header.Get("Content-Security-Policy") != newPage(webSocketPage).policy || got.Header.Get("Content-Type") != pageType {
			t.Errorf("%s: the page for WebSockets has %d bytes and the headers %v", proto, len(got.Text), got.Header)
		}
		if !strings.Contains(got.Text, "new WebSocket(") {
			t.Errorf("%s: the page opens no WebSocket", proto)
		}
		got = echotest.Send(t, client, http.MethodPost, server.URL+"/-/ws", "")
		if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET" {
			t.Errorf("%s: POST is answered %d", proto, got.StatusCode)
		}
		got = echotest.Send(t, client, http.MethodGet, server.URL+"/", "", "Accept", "text/html")
		before, after, _ := strings.Cut(echoPage, `id="data">`)
		if !strings.HasPrefix(got.Text, before) || !strings.HasSuffix(got.Text, after) || got.Header.Get("Content-Security-Policy") != newPage(echoPage).policy {
			t.Errorf("%s: the page has %d bytes and the headers %v", proto, len(got.Text), got.Header)
		}
	}
}

func rendered(t *testing.T, p *page, data []byte) string {
	t.Helper()
	source, length := p.with(data)
	document, err := io.ReadAll(source)
	if err != nil || length != len(document) {
		t.Errorf("the page has %d bytes, %v, and the length is %d", len(document), err, length)
	}
	return string(document)
}

// TestPage holds the pages to their limits, and what is embedded to where nothing of it is markup.
func TestPage(t *testing.T) {
	for name, page := range map[string]string{"echo": echoPage, "WebSocket": webSocketPage} {
		if len(page) > 8<<10 || strings.Contains(page, "://") || strings.Contains(page, "innerHTML") {
			t.Errorf("the %s page has %d bytes, or reaches out", name, len(page))
		}
	}
	const attack = "</script><script>alert(1)</script><!--"
	h := handlerOf(t)
	got := echotest.Record(h, "/?echo.format=html&x="+strings.ReplaceAll(attack, " ", "+"), "X-Attack", attack, attack, attack)
	if got.Header().Get("Content-Type") != pageType {
		t.Fatalf("the page has the type %s", got.Header().Get("Content-Type"))
	}
	page := newPage(echoPage)
	data, ok := strings.CutPrefix(got.Body.String(), page.head)
	data, ok2 := strings.CutSuffix(data, page.tail)
	if !ok || !ok2 || strings.ContainsAny(data, "<>&") {
		t.Errorf("the page is %s", got.Body)
	}
	if a := decode(t, data); a.Headers["X-Attack"][0] != attack {
		t.Errorf("the page holds %q", a.Headers)
	}
}
