package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the pages
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const pageType = "text/html; charset=utf-8"

//go:embed page_echo.html
var echoPage string

//go:embed page_websocket.html
var webSocketPage string

// pages are what browsers are shown.
type pages struct {
	echo      page
	webSocket page
}

func newPages() pages {
	return pages{echo: newPage(echoPage), webSocket: newPage(webSocketPage)}
}

// page is a static document with a place for data. Its policy lets a browser run the page's own script and nothing else, and
// talk to this server only.
type page struct {
	head, tail string
	policy     string
}

// newPage takes a document whose data goes right after id="data">, if there is such a place.
func newPage(document string) page {
	const place = `id="data">`
	head, tail, found := strings.Cut(document, place)
	if found {
		head += place
	}
	return page{head: head, tail: tail, policy: fmt.Sprintf(
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; connect-src 'self'; "+
			"script-src %s; style-src %s", source(document, "script"), source(document, "style"))}
}

// source names the content of the document's one plain element of a kind by its digest (Content Security Policy, 2.3.1).
func source(document, element string) string {
	_, after, _ := strings.Cut(document, "<"+element+">")
	text, _, _ := strings.Cut(after, "</"+element+">")
	digest := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// with is the page with data, which is JSON. Escapes keep any byte of it from being taken for HTML.
func (p *page) with(data []byte) []byte {
	var document bytes.Buffer
	document.WriteString(p.head)
	json.HTMLEscape(&document, data)
	document.WriteString(p.tail)
	return document.Bytes()
}

// serve answers with the page as it is.
func (p *page) serve(w http.ResponseWriter) {
	w.Header().Set("Content-Type", pageType)
	w.Header().Set("Content-Security-Policy", p.policy)
	_, _ = io.WriteString(w, p.head+p.tail) // the client may be gone
}
