package window

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
	// mostVerbose is the highest verbosity that can be asked for; client-go has nothing to say beyond it.
	mostVerbose = 10
	// levelDuration is for how long a level stays that nobody says a time for, and maxLevelDuration the longest time.
	levelDuration    = 15 * time.Minute
	maxLevelDuration = 24 * time.Hour
	// maxLevelRequest is the longest request for a level, in bytes.
	maxLevelRequest = 1024
)

// LogLevel is how much this process logs, which can be changed for a while.
type LogLevel struct {
	level    zap.AtomicLevel
	standard zapcore.Level

	lock  sync.Mutex
	until time.Time // zero: the standard is in force
	back  *time.Timer
}

// NewLogLevel is the level that a process begins with and goes back to.
func NewLogLevel(standard zapcore.Level) *LogLevel {
	return &LogLevel{level: zap.NewAtomicLevelAt(standard), standard: standard}
}

// Enabler is what a logger asks.
func (l *LogLevel) Enabler() zapcore.LevelEnabler { return l.level }

// levelRequest is what people ask for.
type levelRequest struct {
	Level levelName `json:"level"`
	For   string    `json:"for"`
}

// levelName is a level as people write it, in JSON as text or as a number.
type levelName string

// UnmarshalJSON implements json.Unmarshaler.
func (n *levelName) UnmarshalJSON(text []byte) error {
	*n = levelName(strings.Trim(string(text), `"`))
	return nil
}

// levelView is how much is logged, and until when if that is not the default.
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

// set changes the level, and has it changed back. The last one who asks decides.
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

// reset goes back to the standard, unless somebody has asked for another level meanwhile.
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

// readLevel reads a request for a level. Its errors say what would be right.
func readLevel(body io.Reader) (zapcore.Level, time.Duration, error) {
	asked := levelRequest{For: levelDuration.String()}
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return 0, 0, fmt.Errorf(`the request is not like {"level": "debug", "for": "15m"}: %w`, err)
	}
	level, err := parseLevel(string(asked.Level))
	if err != nil {
		return 0, 0, err
	}
	duration, err := time.ParseDuration(asked.For)
	if err != nil || duration < time.Second || duration > maxLevelDuration {
		return 0, 0, fmt.Errorf("for: %q is not a time from 1s to %.0fh, such as 90s or 15m", asked.For, maxLevelDuration.Hours())
	}
	return level, duration, nil
}

// parseLevel reads a level as --zap-log-level does. A number is a verbosity, 1 the same as debug.
func parseLevel(text string) (zapcore.Level, error) {
	switch text {
	case "error":
		return zapcore.ErrorLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	case "":
		return 0, errors.New("level: is missing: error, info, debug or a number from 1 (debug) to 10 (everything)")
	}
	verbosity, err := strconv.Atoi(text)
	if err != nil || verbosity < 1 || verbosity > mostVerbose {
		return 0, fmt.Errorf("level: %q is none of error, info, debug or a number from 1 (debug) to %d (everything)", text, mostVerbose)
	}
	return zapcore.Level(-verbosity), nil
}

// nameOf is how a level is asked for.
func nameOf(level zapcore.Level) string {
	if level < zapcore.DebugLevel {
		return strconv.Itoa(int(-level))
	}
	return level.String()
}
