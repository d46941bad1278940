package rejections

import (
	"sync"
	"time"
)

const (
	// linesPerSecond is how many rejections the process logs within any second. A limit for each client would not bound a flood of clients.
	linesPerSecond = 10
	second         = time.Second
)

// limiter bounds the number of log lines.
type limiter struct {
	summarize func(omitted int) // writes a line

	mutex     sync.Mutex
	logged    [linesPerSecond]time.Time // of the last lines
	oldest    int                       // its index
	omitted   int                       // since the last summary
	scheduled bool                      // the next summary
}

// allow reports whether a line can be written now. Others are counted, and summarized within a second.
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

// writeSummary runs once at a time: if nothing reads the log, it waits for that.
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
