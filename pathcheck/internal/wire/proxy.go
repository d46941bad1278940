package wire

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Proxy is a forward proxy, or none if Address is empty.
type Proxy struct {
	Address string // host and port
	target  *Target
	login   *url.Userinfo
}

// NewProxy returns the forward proxy with a URL. The error repeats no part of the URL, because any part may be secret if special characters
// in the password are not escaped.
func NewProxy(given url.URL, ca []byte) (p Proxy, err error) {
	p.login, given.User = given.User, nil
	t, err := ParseTarget(given.String(), "")
	if err != nil || t.Base != "" {
		return p, errors.New("the URL of the forward proxy must be http[s]://[USER:PASSWORD@]HOST:PORT, with escapes for special characters")
	}
	p.Address, p.target = t.Dial, &t
	t.Roots, err = Roots(ca)
	return p, err
}

// tunnel turns a connection to the proxy into a connection to an address. Requests for http URLs also use a tunnel, because a proxy that
// reads requests changes them.
func (p *Proxy) tunnel(ctx context.Context, c net.Conn, address string) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // makes reads and writes fail
	_ = c.SetDeadline(time.Now().Add(Timeout))               // writes fail if the connection is closed
	secured, err := p.target.secure(ctx, c, p.target.TLSConfig("http/1.1"))
	if err != nil {
		return nil, err
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: address}, Header: http.Header{}}
	if p.login != nil {
		password, _ := p.login.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(p.login.Username()+":"+password)))
	}
	reader, response := bufio.NewReader(secured), &http.Response{}
	if err = request.Write(secured); err == nil {
		response, err = http.ReadResponse(reader, request) //nolint:bodyclose // the body is the tunnel
	}
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("the proxy refuses CONNECT with %d %s: use an https URL with port 443, NO_PROXY, or another user of the proxy",
			response.StatusCode, http.StatusText(response.StatusCode))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &tunneledConn{secured, reader}, c.SetDeadline(time.Time{})
}

// tunneledConn is a connection in a tunnel. The first bytes from the server may arrive together with the response from the proxy.
type tunneledConn struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (c *tunneledConn) Read(p []byte) (int, error) { return c.reader.Read(p) }
