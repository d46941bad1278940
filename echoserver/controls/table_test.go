package controls

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTable checks that each row describes its control correctly.
func TestTable(t *testing.T) {
	document, err := os.ReadFile("../../docs/reference/echo-server.md")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, row := range table() {
		if row.value(Controls{}) != nil {
			t.Errorf("%s is applied by default", row.name)
		}
		if row.set == nil {
			if row.varies {
				t.Errorf("Vary names %s, which a request cannot set", row.name)
			}
			continue
		}
		last = row.name
		if err := (&Controls{}).set(row.name, []string{""}, Safe); err == nil || strings.Contains(err.Error(), "unknown control") {
			t.Errorf("%s with an empty value: %v", row.name, err)
		}
		if !strings.Contains(string(document), "`echo."+row.name) && !strings.Contains(string(document), "| `"+row.name+"`") {
			t.Errorf("docs/reference/echo-server.md does not describe %s", row.name)
		}
		vary := strings.Split(Safe.Vary(), ",")
		if header := http.CanonicalHeaderKey(headerPrefix + row.name); slices.Contains(vary, header) != row.varies {
			t.Errorf("Vary is %q, with %s: %t", vary, header, row.varies)
		}
	}
	if length := len(Safe.Vary()) + len(",Accept-Encoding"); length > 128 {
		t.Errorf("nginx would not cache the response: Vary has %d bytes", length)
	}
	if got := requestable(); !strings.HasPrefix(got, "status, delay, set-header, ") || !strings.HasSuffix(got, " and "+last) {
		t.Errorf("a request can set %s; the last row is %s", got, last)
	}
}
