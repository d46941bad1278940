package statusapi

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// logPeriod is the minimum time between two lines of a sampled log.
const logPeriod = time.Second

// sampledLog writes at most one line per period. The line includes the number of lines that were dropped before it. A sampledLog is safe
// for concurrent use.
type sampledLog struct {
	log logr.Logger

	lock    sync.Mutex
	last    time.Time
	leftOut int
}

// info writes or drops a line.
func (s *sampledLog) info(message string, keysAndValues ...any) {
	leftOut, write := s.next(time.Now())
	if !write {
		return
	}
	if leftOut > 0 {
		keysAndValues = append(keysAndValues, "leftOut", leftOut)
	}
	s.log.Info(message, keysAndValues...)
}

// next returns the number of lines that were dropped since the last line, and reports whether a line is due.
func (s *sampledLog) next(now time.Time) (int, bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if now.Sub(s.last) < logPeriod {
		s.leftOut++
		return 0, false
	}
	leftOut := s.leftOut
	s.last, s.leftOut = now, 0
	return leftOut, true
}
