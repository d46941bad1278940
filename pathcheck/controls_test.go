package pathcheck

import (
	"net/http"
	"testing"

	"github.com/echo-operator/echo-operator/internal/proof"
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
