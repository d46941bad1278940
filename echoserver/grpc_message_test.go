package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// countedBytes is a budget that counts.
type countedBytes struct{ limit, held, most int64 }

func (c *countedBytes) take(n int64) bool {
	if c.held+n > c.limit {
		return false
	}
	c.held += n
	c.most = max(c.most, c.held)
	return true
}

func (c *countedBytes) give(n int64) { c.held -= n }

func TestReadGRPCMessage(t *testing.T) {
	for _, size := range []int{0, 1, firstStep, firstStep + 1, 100_000, maxGRPCMessage} {
		sent, held := []byte(payload(size)), &countedBytes{limit: 4 * maxGRPCMessage}
		m, err := readGRPCMessage(0, iotest.HalfReader(bytes.NewReader(framed(sent)[1:])), held)
		if err != nil || !bytes.Equal(m.data, sent) {
			t.Fatalf("of %d bytes come %d, %v", size, len(m.data), err)
		}
		if held.held < int64(size) || held.most > 2*int64(size)+firstStep {
			t.Errorf("for %d bytes, %d are held, at most %d", size, held.held, held.most)
		}
		m.release()
		if held.held != 0 {
			t.Errorf("of %d bytes, %d are held after the release", size, held.held)
		}
	}
}

func TestReadGRPCMessageErrors(t *testing.T) {
	whole := string(framed([]byte(payload(100_000)))[1:])
	for name, c := range map[string]struct {
		flag byte
		sent string
		want error
		most int64
	}{
		"compressed":                    {1, whole, grpcErrorf(grpcInternal, "the message is compressed, but the call has no grpc-encoding"), 0},
		"ends within the length":        {0, whole[:3], io.ErrUnexpectedEOF, 0},
		"ends after the length":         {0, whole[:4], io.ErrUnexpectedEOF, firstStep},
		"ends within the message":       {0, whole[:4+firstStep+1], io.ErrUnexpectedEOF, 3 * firstStep},
		"one byte too large":            {0, "\x00\x10\x00\x01", errGRPCMessageTooLarge, 0},
		"as large as the format allows": {0, "\xff\xff\xff\xff", errGRPCMessageTooLarge, 0},
		"no memory":                     {0, string(framed([]byte(payload(maxGRPCMessage)))[1:]), errNoMemory, 500_000},
	} {
		held := &countedBytes{limit: 500_000}
		_, err := readGRPCMessage(c.flag, strings.NewReader(c.sent), held)
		if !errors.Is(err, c.want) || held.held != 0 || held.most > c.most {
			t.Errorf("%s: the error is %v; %d bytes are held, at most %d were", name, err, held.held, held.most)
		}
	}
}

// FuzzGRPCRequest reads anything as the body of a call. Whatever comes, no memory remains held, and no more is held than what arrived
// explains.
func FuzzGRPCRequest(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x07\x0a\x05hello"))
	f.Add([]byte("\x00\x00\x00\x00\x05\x0a\x01a\x18\x03\x00\x00\x00\x00\x04\x20\x01\x12\x00"))
	f.Add([]byte("\x00\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x00\x06\x22\x04echo"))
	f.Add([]byte("\x00\x00\x00\x00\x09\x3a\x01*\x0a\x04host"))
	f.Fuzz(func(t *testing.T, body []byte) {
		source, held := bytes.NewReader(body), &countedBytes{limit: 4 * maxGRPCMessage}
		for {
			flag, err := source.ReadByte()
			if err != nil {
				break
			}
			m, err := readGRPCMessage(flag, source, held)
			if err != nil {
				break
			}
			if echo, err := parseGRPCEcho(m.data); err == nil && echo.size() > len(m.data) {
				t.Errorf("%d bytes are sent back for %d", echo.size(), len(m.data))
			}
			if response, err := reflection(m.data); err == nil && eachField(response, func(protobufField) {}) != nil {
				t.Errorf("the response %q is not valid", response)
			}
			m.release()
		}
		if held.held != 0 || held.most > 3*int64(len(body))+firstStep {
			t.Errorf("%d bytes are held, at most %d were, for %d", held.held, held.most, len(body))
		}
	})
}
