package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed" // for the pages
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	pageType = "text/html; charset=utf-8"
	// pagePiece is the size of the pieces in which a page is written, in bytes.
	pagePiece = 16 << 10
)

//go:embed page_echo.html
var echoPage string

//go:embed page_websocket.html
var webSocketPage string

// pages contains the HTML pages.
type pages struct {
	echo      page
	webSocket page
}

func newPages() pages {
	return pages{echo: newPage(echoPage), webSocket: newPage(webSocketPage)}
}

// page is a static document with a placeholder for data. Its policy allows a browser to execute only the script of the page, and to
// connect only to this server.
type page struct {
	head, tail string
	policy     string
}

// newPage returns the page of a document. Its data is inserted after id="data">, if the document contains that.
func newPage(document string) page {
	const placeholder = `id="data">`
	head, tail, found := strings.Cut(document, placeholder)
	if found {
		head += placeholder
	}
	return page{head: head, tail: tail, policy: fmt.Sprintf(
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; connect-src 'self'; "+
			"script-src %s; style-src %s", source(document, "script"), source(document, "style"))}
}

// source returns the digest of the content of the only script or style element of the document (Content Security Policy, 2.3.1).
func source(document, element string) string {
	_, after, _ := strings.Cut(document, "<"+element+">")
	text, _, _ := strings.Cut(after, "</"+element+">")
	digest := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// filledPage is a page with data, which is JSON. It is escaped while it is written, so that a large page is never in memory.
type filledPage struct {
	*page
	data []byte
}

// isMarkup reports whether HTML could give a meaning to a character.
func isMarkup(c byte) bool { return c == '<' || c == '>' || c == '&' }

// markupEscape is the length of the escape of such a character, as in \u003c.
const markupEscape = 6

// length returns the size of the page in bytes.
func (p filledPage) length() int {
	length := len(p.head) + len(p.data) + len(p.tail)
	for _, c := range []byte("<>&") {
		length += bytes.Count(p.data, []byte{c}) * (markupEscape - 1)
	}
	return length
}

// WriteTo implements io.WriterTo.
func (p filledPage) WriteTo(w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, pagePiece)
	_, _ = out.WriteString(p.head) // Flush returns the first error
	for data := p.data; len(data) > 0; {
		if out.Available() < markupEscape {
			_ = out.Flush()
		}
		// Appending to the buffer takes a third of the time that writing each byte takes.
		piece := data[:min(len(data), out.Available()/markupEscape)]
		_, _ = out.Write(appendPage(out.AvailableBuffer(), piece))
		data = data[len(piece):]
	}
	_, _ = out.WriteString(p.tail)
	return int64(p.length()), out.Flush()
}

// appendPage appends JSON to a buffer and escapes what HTML could give a meaning.
func appendPage(buffer, data []byte) []byte {
	for _, c := range data {
		if isMarkup(c) {
			buffer = appendUnicodeEscape(buffer, c)
		} else {
			buffer = append(buffer, c)
		}
	}
	return buffer
}

// serve responds with the page without data.
func (p *page) serve(w http.ResponseWriter) {
	w.Header().Set("Content-Type", pageType)
	w.Header().Set("Content-Security-Policy", p.policy)
	_, _ = io.WriteString(w, p.head+p.tail) // the client may have disconnected
}
