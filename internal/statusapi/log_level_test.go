package statusapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
)

func TestReadLevel(t *testing.T) {
	for body, want := range map[string]struct {
		level    zapcore.Level
		duration time.Duration
	}{
		`{"level": "debug"}`:              {zapcore.DebugLevel, levelDuration},
		`{"level": "info", "for": "1s"}`:  {zapcore.InfoLevel, time.Second},
		`{"level":"error","for":"24h"}`:   {zapcore.ErrorLevel, 24 * time.Hour},
		`{"level": "1", "for": "1h30m"}`:  {zapcore.DebugLevel, 90 * time.Minute},
		`{"level": 7, "for": "1m"}`:       {-7, time.Minute},
		`{"for": "2m", "level": "debug"}`: {zapcore.DebugLevel, 2 * time.Minute},
	} {
		level, duration, err := readLevel(strings.NewReader(body))
		if err != nil || level != want.level || duration != want.duration {
			t.Errorf("%s: got %v for %v, %v", body, level, duration, err)
		}
	}
}

func TestInvalidLevels(t *testing.T) {
	for body, want := range map[string]string{
		``:                                 `the request does not look like {"level": "debug", "for": "15m"}: EOF`,
		`debug`:                            `the request does not look like`,
		`{"level": "debug", "until": "x"}`: `unknown field "until"`,
		`{}`:                               `level: required`,
		`{"level": "loud"}`:                `level: "loud" is not error, info, debug or a number from 1 (debug) to 7 (most verbose)`,
		`{"level": "8"}`:                   `level: "8" is not error`,
		`{"level": 10}`:                    `level: "10" is not error`,
		`{"level": -1}`:                    `level: "-1" is not error`,
		`{"level": "debug", "for": "x"}`:   `for: "x" is not a duration from 1s to 24h, such as 90s or 15m`,
		`{"level": "debug", "for": "0s"}`:  `for: "0s"`,
		`{"level": "debug", "for": "25h"}`: `for: "25h"`,
	} {
		if _, _, err := readLevel(strings.NewReader(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestTheLevelReturnsToTheStandard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		level := NewLogLevel(zapcore.InfoLevel)
		expect := func(when string, verbosity zapcore.Level, name string) {
			t.Helper()
			time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's clock
			synctest.Wait()
			if !level.Enabler().Enabled(verbosity) || level.Enabler().Enabled(verbosity-1) || level.view().Level != name {
				t.Errorf("%s: it is %+v", when, level.view())
			}
		}
		expect("at first", zapcore.InfoLevel, "info")
		level.set(zapcore.DebugLevel, time.Minute)
		expect("asked for", zapcore.DebugLevel, "debug")
		time.Sleep(50 * time.Second) //nolint:forbidigo // the bubble's clock
		level.set(-5, time.Minute)
		time.Sleep(50 * time.Second) //nolint:forbidigo // the bubble's clock
		expect("asked for again, when the first time is over", -5, "5")
		if until := level.view().Until; until == nil || until.After(time.Now().Add(11*time.Second)) {
			t.Errorf("it stays until %v", until)
		}
		time.Sleep(10 * time.Second) //nolint:forbidigo // the bubble's clock
		expect("in the end", zapcore.InfoLevel, "info")
		if level.view().Until != nil || level.view().Default != "info" {
			t.Errorf("it is %+v", level.view())
		}
	})
}

func TestRequestThatIsTooLong(t *testing.T) {
	out := httptest.NewRecorder()
	body := `{"level": "` + strings.Repeat("x", maxLevelRequest) + `"}`
	NewLogLevel(zapcore.InfoLevel).put(out, httptest.NewRequestWithContext(t.Context(), http.MethodPut, logLevelPath, strings.NewReader(body)))
	if out.Code != http.StatusBadRequest || !strings.Contains(out.Body.String(), "too large") {
		t.Errorf("got %d %s", out.Code, out.Body)
	}
}
