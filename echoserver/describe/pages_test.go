package describe

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// directives returns the directives of a Content-Security-Policy by name.
func directives(t *testing.T, policy string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for directive := range strings.SplitSeq(policy, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
		if _, again := found[name]; again {
			t.Errorf("%q has %s twice; browsers ignore the second", policy, name)
		}
		found[name] = value
	}
	return found
}

// TestNewPage_allowsOnlyOwnScripts checks that browsers run and apply exactly the scripts and styles in the pages.
func TestNewPage_allowsOnlyOwnScripts(t *testing.T) {
	for name, document := range map[string]string{"echo": echoPage, "WebSocket": webSocketPage} {
		want := map[string]string{"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
			"img-src":     "data:",
			"connect-src": "'self'", "script-src": digestOf(t, document, "script"), "style-src": digestOf(t, document, "style")}
		if diff := cmp.Diff(want, directives(t, newPage(document).Policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(document) > 8<<10 || strings.Contains(document, "://") || strings.Contains(document, "innerHTML") {
			t.Errorf("the page for %s has %d bytes, or loads something from elsewhere", name, len(document))
		}
		if blocked := regexp.MustCompile(`(?i)<[^>]*\s(on\w+|style|src)=|javascript:|<link [^>]*href="[^d]|eval\(`).FindString(
			document); blocked != "" {
			t.Errorf("the policy blocks %q in the page for %s", blocked, name)
		}
	}
}

func TestNewPage(t *testing.T) {
	w, whole := httptest.NewRecorder(), newPage(`<p id="data"></p>`)
	if whole.Serve(&exchange.Exchange{ResponseWriter: w}); w.Body.String() != `<p id="data"></p>` ||
		w.Header().Get("Content-Security-Policy") != whole.Policy {
		t.Errorf("the served page is %q with %v", w.Body, w.Header())
	}
	if page := NewPages().Echo; !strings.HasSuffix(string(page.head), `<script type="application/json" id="data">`) ||
		!strings.HasPrefix(string(page.tail), "</script>\n<script>") {
		t.Errorf("the page's data goes between %q and %q", page.head[len(page.head)-50:], page.tail[:50])
	}
}

// TestPage_escapesData inserts text that could close the data's element, and reads it back from the page.
func TestPage_escapesData(t *testing.T) {
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
		got, ok := strings.CutPrefix(rendered(t, &page, encoded), string(page.head))
		got, ok2 := strings.CutSuffix(got, string(page.tail))
		if !ok || !ok2 || c.forbidden != "" && strings.ContainsAny(got, c.forbidden) {
			t.Errorf("%s: the page holds %q", name, got)
		}
		var read string
		if err := json.Unmarshal([]byte(got), &read); err != nil || read != c.text {
			t.Errorf("%s: read again it is %q, %v", name, read, err)
		}
	}
}

// TestPage_matchesResponseFields compares the names in the page's script with the names in the response.
func TestPage_matchesResponseFields(t *testing.T) {
	known := map[string]bool{} // whether it is a group
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Response]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			known[name] = field.Type.Kind() != reflect.String
		}
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
		if _, ok := known[name]; !ok && name != "format" { // the text for browsers without JavaScript names the parameter echo.format
			t.Errorf("the script reads %s, which no response has", name)
		}
	}
	for name, isGroup := range known {
		if isGroup && !used[name] {
			t.Errorf("the response has the group %s, which the page does not show", name)
		}
	}
}

func rendered(t *testing.T, p *page, data []byte) string {
	t.Helper()
	document, err := io.ReadAll(p.With(data))
	if err != nil || p.Size+len(data) != len(document) {
		t.Errorf("the page has %d bytes, %v, and its size is %d", len(document), err, p.Size)
	}
	return string(document)
}

// digestOf returns the source expression for an element, calculated independently of newPage.
func digestOf(t *testing.T, document, element string) string {
	t.Helper()
	all := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(document, -1)
	if len(all) != 1 {
		t.Fatalf("there are %d elements %s that a browser would run or apply", len(all), element)
	}
	digest := sha256.Sum256([]byte(all[0][1]))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}
