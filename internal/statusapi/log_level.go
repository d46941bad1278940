package statusapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// MostVerbose is the highest verbosity that can be set: from 8 on, client-go logs the bodies of requests and responses, and with them
	// the environment variables of Echoes.
	MostVerbose = 7
	// levelDuration is how long a level applies by default, and maxLevelDuration the longest time.
	levelDuration    = 15 * time.Minute
	maxLevelDuration = 24 * time.Hour
	// maxLevelRequest is the size of the longest request for a level, in bytes.
	maxLevelRequest = 1024
)

// LogLevel is the log level of this process, which can be changed for a while. Its methods may be called concurrently.
type LogLevel struct {
	level    zap.AtomicLevel
	standard zapcore.Level

	lock  sync.Mutex
	until time.Time // zero: the standard applies
	back  *time.Timer
}

// NewLogLevel returns the level that a process starts with and returns to.
func NewLogLevel(standard zapcore.Level) *LogLevel {
	return &LogLevel{level: zap.NewAtomicLevelAt(standard), standard: standard}
}

// Enabler returns the level in the form that a logger requires.
func (l *LogLevel) Enabler() zapcore.LevelEnabler { return l.level }

// levelRequest is a request for a level.
type levelRequest struct {
	Level levelName `json:"level"`
	For   string    `json:"for"`
}

// levelName is a level, in JSON a string or a number.
type levelName string

// UnmarshalJSON implements json.Unmarshaler.
func (n *levelName) UnmarshalJSON(text []byte) error {
	*n = levelName(strings.Trim(string(text), `"`))
	return nil
}

// levelView is the current level, and until when it applies if it is not the default.
type levelView struct {
	Level   string     `json:"level"`
	Default string     `json:"default"`
	Until   *time.Time `json:"until,omitempty"`
}

func (l *LogLevel) get(out http.ResponseWriter, _ *http.Request) { reply(out, http.StatusOK, l.view()) }

// put changes the level for a while.
func (l *LogLevel) put(out http.ResponseWriter, r *http.Request) {
	level, duration, err := readLevel(http.MaxBytesReader(out, r.Body, maxLevelRequest))
	if err != nil {
		refuse(out, http.StatusBadRequest, err.Error())
		return
	}
	l.set(level, duration)
	reply(out, http.StatusOK, l.view())
}

// set changes the level for a while. The last request counts.
func (l *LogLevel) set(level zapcore.Level, duration time.Duration) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.back != nil {
		l.back.Stop()
	}
	until := time.Now().Add(duration)
	l.until = until
	l.level.SetLevel(level)
	l.back = time.AfterFunc(duration, func() { l.reset(until) })
}

// reset returns to the standard, unless another level was requested in the meantime.
func (l *LogLevel) reset(until time.Time) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.until.Equal(until) {
		l.until = time.Time{}
		l.level.SetLevel(l.standard)
	}
}

func (l *LogLevel) view() levelView {
	l.lock.Lock()
	defer l.lock.Unlock()
	view := levelView{Level: nameOf(l.level.Level()), Default: nameOf(l.standard)}
	if !l.until.IsZero() {
		until := l.until.UTC().Truncate(time.Second)
		view.Until = &until
	}
	return view
}

// readLevel reads a request for a level. Its errors say what would be valid.
func readLevel(body io.Reader) (zapcore.Level, time.Duration, error) {
	asked := levelRequest{For: levelDuration.String()}
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return 0, 0, fmt.Errorf(`the request does not look like {"level": "debug", "for": "15m"}: %w`, err)
	}
	level, err := parseLevel(string(asked.Level))
	if err != nil {
		return 0, 0, err
	}
	duration, err := time.ParseDuration(asked.For)
	if err != nil || duration < time.Second || duration > maxLevelDuration {
		return 0, 0, fmt.Errorf("for: %q is not a duration from 1s to %.0fh, such as 90s or 15m", asked.For, maxLevelDuration.Hours())
	}
	return level, duration, nil
}

// parseLevel reads a level as --zap-log-level does. A number is a verbosity; 1 equals debug.
func parseLevel(text string) (zapcore.Level, error) {
	switch text {
	case "error":
		return zapcore.ErrorLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	case "":
		return 0, errors.New("level: required: error, info, debug or a number from 1 (debug) to 7 (most verbose)")
	}
	verbosity, err := strconv.Atoi(text)
	if err != nil || verbosity < 1 || verbosity > MostVerbose {
		return 0, fmt.Errorf("level: %q is not error, info, debug or a number from 1 (debug) to %d (most verbose)", text, MostVerbose)
	}
	return zapcore.Level(-verbosity), nil
}

// nameOf returns a level as it is requested.
func nameOf(level zapcore.Level) string {
	if level < zapcore.DebugLevel {
		return strconv.Itoa(int(-level))
	}
	return level.String()
}
