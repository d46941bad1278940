package main

const (
	// preface is what an HTTP/2 connection begins with (RFC 9113, 3.4).
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// restOfPreface is the length of what follows the empty line in the preface.
	restOfPreface = len("SM\r\n\r\n")

	// Of the frames of HTTP/2 (RFC 9113, 4.1 and 6).
	frameHeader       = 9 // its length, in bytes
	frameHeaders      = 1
	frameContinuation = 9
	frameEndHeaders   = 4 // a flag
)

// frames follows the frames that an HTTP/2 client sends, to know when a header is incomplete: net/http would wait for it without a limit.
type frames struct {
	inHeader bool // a header has begun and is not complete
	begun    int  // number of headers

	skip int               // bytes until the next frame
	head [frameHeader]byte // of the frame
	have int               // bytes in head
	ends bool              // the header ends with the frame that is skipped
}

func newFrames() *frames { return &frames{skip: restOfPreface} }

// add follows a piece of what was read.
func (f *frames) add(piece []byte) {
	for len(piece) > 0 {
		if f.skip > 0 {
			skipped := min(f.skip, len(piece))
			f.skip -= skipped
			piece = piece[skipped:]
		} else {
			copied := copy(f.head[f.have:], piece)
			f.have += copied
			piece = piece[copied:]
		}
		f.next()
	}
}

// next begins or ends a frame if all of its header or payload was read.
func (f *frames) next() {
	if f.have == frameHeader {
		f.have = 0
		f.skip = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
		if kind := f.head[3]; kind == frameHeaders || kind == frameContinuation {
			if !f.inHeader {
				f.begun++
			}
			f.inHeader = true
			f.ends = f.head[4]&frameEndHeaders != 0
		}
	}
	if f.skip == 0 && f.ends {
		f.inHeader, f.ends = false, false
	}
}
