package describe

import (
	"crypto/sha256"
	_ "embed" // for the pages
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// PageType is the media type of a page.
const PageType = "text/html; charset=utf-8"

//go:embed page_echo.html
var echoPage string

//go:embed page_websocket.html
var webSocketPage string

// Pages contains the HTML pages.
type Pages struct {
	Echo      page
	WebSocket page
}

// NewPages returns the pages.
func NewPages() Pages {
	return Pages{Echo: newPage(echoPage), WebSocket: newPage(webSocketPage)}
}

// page is a static document with a placeholder for data. Its Content-Security-Policy allows a browser to execute only the page's script,
// and to connect only to this server.
type page struct {
	head, tail []byte
	Size       int // in bytes, without data
	Policy     string
}

// newPage returns a page for a document. The With method inserts the data after id="data">, if the document contains this text.
func newPage(document string) page {
	const placeholder = `id="data">`
	head, tail, found := strings.Cut(document, placeholder)
	if found {
		head += placeholder
	}
	return page{head: []byte(head), tail: []byte(tail), Size: len(head) + len(tail), Policy: fmt.Sprintf(
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; connect-src 'self'; "+
			"script-src %s; style-src %s", source(document, "script"), source(document, "style"))}
}

// source returns the source expression for the document's only script or style element: the digest of the element's content (Content
// Security Policy, 2.3.1).
func source(document, element string) string {
	_, after, _ := strings.Cut(document, "<"+element+">")
	text, _, _ := strings.Cut(after, "</"+element+">")
	digest := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// With returns the page with data, which must be JSON without HTML markup characters. Copying the result needs no buffer.
func (p *page) With(data []byte) io.Reader { return &net.Buffers{p.head, data, p.tail} }

// Serve responds with the page, without data.
func (p *page) Serve(e *exchange.Exchange) {
	e.Header().Set("Content-Security-Policy", p.Policy)
	e.Reply(http.StatusOK, PageType, string(p.head)+string(p.tail))
}
