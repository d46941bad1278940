package main

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
)

// TestFrames follows frames in pieces of each size, and checks after each piece whether a header is incomplete.
func TestFrames(t *testing.T) {
	const headersFrame, continuation = true, false
	var sent bytes.Buffer
	framer := http2.NewFramer(&sent, nil)
	sent.WriteString("SM\r\n\r\n")
	open := []int{} // offsets between which a header is incomplete: from the end of a frame's header
	header := func(kind bool, id uint32, block string, ends bool) {
		before := sent.Len()
		var err error
		if kind == headersFrame {
			err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(block), EndHeaders: ends})
			open = append(open, before+frameHeader)
		} else {
			err = framer.WriteContinuation(id, ends, []byte(block))
		}
		if err != nil {
			t.Fatal(err)
		}
		if ends {
			open = append(open, sent.Len())
		}
	}
	other := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	other(framer.WriteSettings())
	header(headersFrame, 1, "whole", true)
	other(framer.WriteData(1, true, bytes.Repeat([]byte{frameHeaders}, 300))) // looks like frames
	header(headersFrame, 3, "begun", false)
	header(continuation, 3, "", false)
	header(continuation, 3, "continued", false)
	header(continuation, 3, "", true)
	other(framer.WritePing(false, [8]byte{}))
	header(headersFrame, 5, "", true)

	for _, size := range []int{1, 2, 5, 9, 10, 100} {
		f := newFrames()
		for at := 0; at < sent.Len(); at += size {
			end := min(at+size, sent.Len())
			f.add(sent.Bytes()[at:end])
			want := false
			for i := 0; i < len(open); i += 2 {
				want = want || open[i] <= end && end < open[i+1]
			}
			if f.inHeader != want {
				t.Errorf("in pieces of %d, after %d bytes: in a header: %t, want %t", size, end, f.inHeader, want)
			}
		}
	}
}
