package rejections

import (
	"sync"
	"time"
)

const (
	// linesPerSecond is the maximum number of rejections that the process logs within any second. A limit for each client would not bound a
	// flood from many clients.
	linesPerSecond = 10
	second         = time.Second
)

// limiter limits the number of log lines.
type limiter struct {
	summarize func(omitted int) // writes a line

	mutex     sync.Mutex
	logged    [linesPerSecond]time.Time // when the last lines were logged
	oldest    int                       // the index of the oldest line
	omitted   int                       // since the last summary
	scheduled bool                      // whether a summary is scheduled
}

// allow reports whether a line can be written now. It counts the omitted lines, and a summary follows within a second.
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

// writeSummary runs at most once at a time: if nothing reads the log, it blocks.
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
