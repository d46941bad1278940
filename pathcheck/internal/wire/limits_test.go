package wire

import (
	"fmt"
	"net"
	"testing"
)

func TestLimits(t *testing.T) {
	l := NewLimits()
	for range MaxRequests {
		if err := l.Count(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Begin(t.Context()); !IsLimit(err) {
		t.Errorf("the error is %v", err)
	}
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	c := &countedConn{near, l}
	l.bytes.Store(MaxBytes)
	if _, err := c.Read(make([]byte, 1)); !IsLimit(err) {
		t.Errorf("the error of reading is %v", err)
	}
	if _, err := fmt.Fprint(c, "x"); !IsLimit(err) {
		t.Errorf("the error of writing is %v", err)
	}
}
