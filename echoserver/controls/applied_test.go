package controls

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestApplied(t *testing.T) {
	zero, many := 0, MaxSize
	for name, c := range map[string]struct {
		controls   Controls
		json, text string
	}{
		"none":             {Controls{}, `{}`, ""},
		"status":           {Controls{Status: 503}, `{"status":503}`, "status=503"},
		"delay":            {Controls{Delay: 2 * time.Second}, `{"delay":"2s"}`, "delay=2s"},
		"a header":         {Controls{Headers: []Header{{"X-A", "secret"}}}, `{"setHeader":["X-A"]}`, "set-header=X-A"},
		"a header of HTML": {Controls{Headers: []Header{{"X-&", "secret"}}}, `{"setHeader":["X-&"]}`, "set-header=X-&"},
		"a size":           {Controls{Size: &many}, `{"size":16777216}`, "size=16777216"},
		"a size of zero":   {Controls{Size: &zero}, `{"size":0}`, "size=0"},
		"a format":         {Controls{Format: Text}, `{"format":"text"}`, "format=text"},
		"early hints":      {Controls{EarlyHints: true}, `{"earlyHints":true}`, "early-hints=true"},
		"a fixed body":     {Controls{Body: "x"}, `{}`, "body=fixed"},
		"all": {Controls{Status: 200, Delay: time.Millisecond, Headers: []Header{{"X-B", "1"}, {"X-A", "2"}, {"X-B", "3"}}, Size: &zero,
			Format: HTML, Body: "x"},
			`{"status":200,"delay":"1ms","setHeader":["X-B","X-A","X-B"],"size":0,"format":"html"}`,
			"status=200, delay=1ms, set-header=X-B, set-header=X-A, set-header=X-B, size=0, format=html, body=fixed"},
		"a fault of the settings": {Controls{Connection: ConnectionTruncate, fault: 1}, `{"connection":"truncate","fault":0}`,
			"connection=truncate, fault=0"},
		"a fault of a request": {Controls{Status: 503, percentage: 30, failures: 2}, `{"status":503,"percentage":30,"failures":2}`,
			"status=503, percentage=30, failures=2"},
		"a delay is rounded up":    {Controls{Delay: 1500 * time.Microsecond}, `{"delay":"2ms"}`, "delay=2ms"},
		"a delay is rounded down":  {Controls{Delay: 1499 * time.Microsecond}, `{"delay":"1ms"}`, "delay=1ms"},
		"a delay close to zero":    {Controls{Delay: 1}, `{"delay":"0s"}`, "delay=0s"},
		"the longest delay":        {Controls{Delay: MaxDelay}, `{"delay":"30s"}`, "delay=30s"},
		"a delay of several units": {Controls{Delay: 12*time.Second + 34*time.Millisecond}, `{"delay":"12.034s"}`, "delay=12.034s"},
		"a status and a format":    {Controls{Status: 599, Format: JSON}, `{"status":599,"format":"json"}`, "status=599, format=json"},
	} {
		got := c.controls.Applied()
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(got); err != nil {
			t.Fatal(err)
		}
		if got.String() != c.text || encoded.String() != c.json+"\n" {
			t.Errorf("%s: %q and %s, want %q and %s", name, got, &encoded, c.text, c.json)
		}
		if (got == nil) != (name == "none") {
			t.Errorf("%s: it is nil: %t", name, got == nil)
		}
	}
}
