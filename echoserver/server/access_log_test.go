package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

func TestAccessLog(t *testing.T) {
	h, log := loggedHandler(t)
	for _, path := range []string{"/-/livez", "/-/readyz"} {
		echotest.Record(h, path)
	}
	if got := log.String(); got != "" {
		t.Errorf("probes are logged: %s", got)
	}
	echotest.Record(h, "/a%0ab?token=hunter2&echo.status=418", "X-Request-Id", "id-7", "Authorization", "Bearer hunter2")
	var line map[string]any
	if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	for key, want := range map[string]any{"msg": "request", "level": "INFO", "id": "id-7", "method": "GET", "host": "example.com",
		"path": "/a\nb", "proto": "HTTP/1.1",
		"status": 418.0, "remote": "192.0.2.1:1234"} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(log.String(), "hunter2") || strings.Count(log.String(), "\n") != 1 || line["bytes"].(float64) < 100 ||
		line["nanoseconds"].(float64) <= 0 {
		t.Errorf("the line is %s", log)
	}
	before := len(log.String())
	echotest.Record(h, "/"+strings.Repeat("x", 60_000))
	if length := len(log.String()) - before; length > 2*exchange.MaxLogged {
		t.Errorf("a line has %d bytes", length)
	}
}
