package server

import (
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRespond_sendsEarlyHintsOnlyUnderFull checks that only the Full policy allows status 103 before the final response.
func TestRespond_sendsEarlyHintsOnlyUnderFull(t *testing.T) {
	for policy, want := range map[string]int{"Full": http.StatusOK, "Safe": http.StatusBadRequest, "None": http.StatusOK} {
		server := serve(t, handlerOf(t, "ECHO_CONTROLS="+policy))
		for proto, client := range echotest.Clients(t) {
			interim := 0
			trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
				interim = code
				return nil
			}}
			r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, server.URL+"/?echo.early-hints=true",
				http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != want || (interim == http.StatusEarlyHints) != (policy == "Full") {
				t.Errorf("%s, %s: status %d after %d", policy, proto, response.StatusCode, interim)
			}
		}
	}
}
