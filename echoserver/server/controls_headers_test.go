package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestEcho_rejectsSettingForbiddenHeaders tries to set each forbidden header in several spellings, by query parameter and by header. It
// also tries connection headers as default headers.
func TestEcho_rejectsSettingForbiddenHeaders(t *testing.T) {
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
		h := handlerOf(t)
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name), " " + name + " "} {
			byQuery := echotest.Record(h, "/?echo.set-header=X-A:1&echo.set-header="+url.QueryEscape(spelling+": 1"))
			byHeader := echotest.Record(h, "/", "X-Echo-Set-Header", "X-A: 1,"+spelling+": 1")
			for way, w := range map[string]string{"query": byQuery.Body.String(), "header": byHeader.Body.String()} {
				if !strings.Contains(w, http.CanonicalHeaderKey(name)+" cannot be set") || !strings.Contains(w, why) {
					t.Errorf("%q by %s gets %q", spelling, way, w)
				}
			}
			if byQuery.Code != http.StatusBadRequest || byHeader.Code != http.StatusBadRequest ||
				byQuery.Header().Get("X-A")+byHeader.Header().Get("X-A") != "" {
				t.Errorf("%q gets %d and %d with %v", spelling, byQuery.Code, byHeader.Code, byQuery.Header())
			}
		}
		headers, err := controls.ParseDefaultHeaders(`[{"name":"` + strings.ToLower(name) + `","value":"1"}]`)
		if isFraming := why == framing; (err != nil) != isFraming || (len(headers) == 1) == isFraming {
			t.Errorf("%s as a default: %v, %v", name, headers, err)
		}
	}
}

// TestRespond_setsHeadersResemblingForbiddenOnes sets headers whose names resemble the names of rejected headers.
func TestRespond_setsHeadersResemblingForbiddenOnes(t *testing.T) {
	h := handlerOf(t, "ECHO_CONTROLS=Full")
	for _, name := range []string{"Connections", "X-Connection", "Content-Lengths", "Set-Cookie3", "X-Set-Cookie", "Access-Control",
		"X-Access-Control-Allow-Origin", "Cross-Origin", "Keep", "Retry-After", "Location", "Server", "Content-Language", "X-Echo-Status",
		"Www-Authenticate"} {
		w := echotest.Record(h, "/?echo.set-header="+name+":1")
		if w.Code != http.StatusOK || w.Header().Get(name) != "1" {
			t.Errorf("%s gets %d with %q: %s", name, w.Code, w.Header().Get(name), w.Body)
		}
	}
}

// TestEcho_setsConformanceHeadersOnlyUnderFull sets the headers that the Gateway API conformance suite sets. The Safe policy must reject
// them, and the error must name the setting that allows them.
func TestEcho_setsConformanceHeadersOnlyUnderFull(t *testing.T) {
	for _, name := range []string{"Header-Add", "Some-Other-Header", "Another-Header", "X-Header-Set", "X-Header-Add", "X-Header-Remove",
		"X-Header-Set-2", "X-Header-Add-2", "X-Header-Remove-1", "X-Header-Echo", "x-header-set"} {
		safe := echotest.Record(handlerOf(t), "/", "X-Echo-Set-Header", name+":val")
		if safe.Code != http.StatusBadRequest || !strings.Contains(safe.Body.String(), "spec.server.controls: Full") {
			t.Errorf("%s under Safe gets %d %s", name, safe.Code, safe.Body)
		}
		full := echotest.Record(handlerOf(t, "ECHO_CONTROLS=Full"), "/", "X-Echo-Set-Header", name+":val")
		if full.Code != http.StatusOK || full.Header().Get(name) != "val" {
			t.Errorf("%s under Full gets %d, %q", name, full.Code, full.Header().Get(name))
		}
	}
}

// TestEcho_acceptsEmptyHeaderLists sends empty header lists, as the client of the Gateway API conformance suite does in most requests.
func TestEcho_acceptsEmptyHeaderLists(t *testing.T) {
	for _, policy := range []string{"Safe", "Full", "None"} {
		h := handlerOf(t, "ECHO_CONTROLS="+policy)
		for _, list := range []string{"", ",", " , ,\t", ",,,,"} {
			if w := echotest.Record(h, "/", "X-Echo-Set-Header", list, "X-Echo-Set-Header", list); w.Code != http.StatusOK ||
				w.Header().Get("X-Echo-Applied") != "" {
				t.Errorf("%q under %s gets %d %s", list, policy, w.Code, w.Body)
			}
		}
	}
	if w := echotest.Record(handlerOf(t), "/?echo.set-header="); w.Code != http.StatusBadRequest {
		t.Errorf("an empty parameter gets %d", w.Code)
	}
	if w := echotest.Record(handlerOf(t), "/", "X-Echo-Set-Header", "", "X-Echo-Set-Header", "nothing"); w.Code != http.StatusBadRequest {
		t.Errorf("the response to a list with an element that is not a header is %d", w.Code)
	}
}
