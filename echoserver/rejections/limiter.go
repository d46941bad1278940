package rejections

import (
	"sync"
	"time"
)

const (
	// linesPerSecond is the maximum number of rejections that the process logs within any second. A per-client limit would not protect the log
	// from a flood from many clients.
	linesPerSecond = 10
	second         = time.Second
)

type limiter struct {
	summarize func(omitted int) // writes a line

	mutex     sync.Mutex
	logged    [linesPerSecond]time.Time // the times at which the last lines were logged
	oldest    int                       // the index of the oldest time in logged
	omitted   int                       // the number of omitted lines since the last summary
	scheduled bool                      // whether a summary is scheduled
}

// allow reports whether a line can be logged now. If not, it counts the line as omitted, and schedules a summary within a second.
func (l *limiter) allow(now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if now.Sub(l.logged[l.oldest]) >= second {
		l.logged[l.oldest] = now
		l.oldest = (l.oldest + 1) % linesPerSecond
		return true
	}
	l.omitted++
	l.schedule()
	return false
}

// schedule must be called with the mutex held.
func (l *limiter) schedule() {
	if !l.scheduled {
		l.scheduled = true
		time.AfterFunc(second, l.writeSummary)
	}
}

// writeSummary blocks while nothing reads the log, so only one call may run at a time.
func (l *limiter) writeSummary() {
	l.mutex.Lock()
	omitted := l.omitted
	l.omitted = 0
	l.mutex.Unlock()
	l.summarize(omitted)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.scheduled = false
	if l.omitted > 0 {
		l.schedule()
	}
}
