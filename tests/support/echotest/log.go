package echotest

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"
)

// Quiet returns a logger that discards all lines.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Patience is the maximum time that a test waits for an expected result.
const Patience = 30 * time.Second

// Until waits until done returns true, and fails the test if the wait takes too long.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", Patience, what)
		}
	}
}

// LockedBuffer is a buffer that several goroutines can use at the same time.
type LockedBuffer struct {
	// Mutex blocks writers while a test holds it.
	Mutex sync.Mutex
	data  bytes.Buffer
}

// Write implements io.Writer.
func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.Mutex.Lock()
	defer b.Mutex.Unlock()
	return b.data.Write(p)
}

// String returns the text that has been written to the buffer.
func (b *LockedBuffer) String() string {
	b.Mutex.Lock()
	defer b.Mutex.Unlock()
	return b.data.String()
}
