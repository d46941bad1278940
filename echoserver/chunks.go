package main

import (
	"errors"
	"io"
	"net/http"
)

// chunkOverhead is how many bytes that are not content a chunked body may have beyond half of what was sent. Parsing a chunk of one byte
// costs as much as parsing one of a thousand.
const chunkOverhead = 8 << 10

var errSmallChunks = errors.New("the body has too many small chunks")

// chunkedBody is a chunked body. Reading it fails if most of what the client sends are not content but the sizes of chunks.
type chunkedBody struct {
	io.ReadCloser
	connection *connection
	before     int64 // bytes that the connection had received before the body
	content    int64 // bytes that were read
}

// withoutSmallChunks returns a body that cannot have too many small chunks.
func withoutSmallChunks(body io.ReadCloser, r *http.Request) io.ReadCloser {
	c := connectionOf(r)
	if c == nil || r.ProtoMajor != 1 || len(r.TransferEncoding) == 0 {
		return body
	}
	return &chunkedBody{ReadCloser: body, connection: c, before: c.received.Load()}
}

// Read implements io.Reader.
func (b *chunkedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.content += int64(n)
	if b.connection.received.Load()-b.before > 2*b.content+chunkOverhead {
		return n, errSmallChunks
	}
	return n, err
}

// refuseRest responds, and closes the connection without parsing the rest of the body. net/http would read it first.
func refuseRest(e *exchange, r *http.Request, status int, why string) {
	controller := http.NewResponseController(e)
	_ = controller.EnableFullDuplex() // always succeeds for HTTP/1
	e.Header().Set("Connection", "close")
	refuse(e, status, why)
	_ = controller.Flush() // the client may have disconnected
	connectionOf(r).linger()
	panic(http.ErrAbortHandler) // tells net/http to close the connection
}
