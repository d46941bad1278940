package wire

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// Stream is a connection on which a request was sent.
type Stream struct {
	net.Conn
	limited *io.LimitedReader
	Reader  *bufio.Reader
	method  string
	Nonce   string
	Began   time.Time
	end     func()
}

func newStream(c net.Conn, method, nonce string, end func()) *Stream {
	limited := &io.LimitedReader{R: c, N: maxHeader}
	return &Stream{Conn: c, limited: limited, Reader: bufio.NewReaderSize(limited, 4<<10), method: method, Nonce: nonce, Began: time.Now(),
		end: end}
}

// Close implements net.Conn.
func (s *Stream) Close() error {
	defer s.end()
	return s.Conn.Close()
}

// Allow sets how many more bytes can be read.
func (s *Stream) Allow(bytes int64) { s.limited.N = bytes }

// state returns the TLS state, if any.
func (s *Stream) state() *tls.ConnectionState {
	if secured, ok := s.Conn.(*tls.Conn); ok {
		state := secured.ConnectionState()
		return &state
	}
	return nil
}

// ReadHeader reads any interim responses, and the final response up to its body. It reads at most maxHeader bytes.
func (s *Stream) ReadHeader() (*http.Response, []int, error) {
	const maxInterim = 8
	s.limited.N = maxHeader
	var interim []int
	for {
		response, err := http.ReadResponse(s.Reader, &http.Request{Method: s.method})
		if err != nil {
			return nil, interim, err
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols || len(interim) == maxInterim {
			return response, interim, nil
		}
		interim = append(interim, response.StatusCode)
	}
}

// readResponse reads at most limit bytes of a response's body, and keeps at most MaxBody bytes.
func (s *Stream) readResponse(limit int64) (*Response, error) {
	response, interim, err := s.ReadHeader() //nolint:bodyclose // readBody closes it
	if err != nil {
		return nil, err
	}
	a := s.NewResponse(response, interim)
	s.limited.N = limit + maxHeader
	a.readBody(response, limit)
	return a, nil
}

// NewResponse converts a response, but does not read its body.
func (s *Stream) NewResponse(response *http.Response, interim []int) *Response {
	return &Response{Status: response.StatusCode, Header: response.Header, Interim: interim, Local: addressOf(s.LocalAddr()),
		Remote: s.RemoteAddr().String(),
		TLS:    s.state(), Took: time.Since(s.Began), Closed: response.Close}
}

func (s *Stream) Send(data []byte) error {
	_, err := s.Write(data)
	return err
}
