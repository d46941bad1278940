package replay

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Namespace is the namespace of the Echoes.
const Namespace = "benchmark"

// Target describes how to connect to an API server as a user.
type Target struct {
	Host                 string
	CA, Certificate, Key []byte
}

// Client sends requests over one HTTP/2 connection without decoding responses.
type Client struct {
	host string
	http *http.Client
}

// NewClient returns a client.
func NewClient(t Target) (*Client, error) {
	certificate, err := tls.X509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(t.CA) {
		return nil, errors.New("the target contains no CA certificate")
	}
	return &Client{host: t.Host, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig:    &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:  true,
		DisableCompression: true,
	}}}, nil
}

// Send sends a request and reads the response into a buffer. Any status code other than 2xx is an error.
func (c *Client) Send(ctx context.Context, method, uri, contentType, accept string, body []byte, into *bytes.Buffer) error {
	request, err := http.NewRequestWithContext(ctx, method, c.host+uri, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header["Content-Type"] = []string{contentType}
	request.Header["Accept"] = []string{accept}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	into.Reset()
	_, err = io.Copy(into, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.500s", method, uri, response.Status, into)
	}
	return nil
}
