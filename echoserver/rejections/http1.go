package rejections

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Header is the header of an HTTP/1 request that net/http rejected.
type Header struct {
	Data       []byte // the header as received, without the preceding empty lines
	EmptyLines []byte // the line breaks that were skipped before the header
	Known      bool   // whether Data starts at the beginning of the header
	Ended      bool   // whether the empty line after the header was read
}

// Explain returns the reason why net/http rejected the request instead of calling a handler.
func (h Header) Explain(statusLine string) Rejection {
	r := Rejection{Status: http.StatusBadRequest, Protocol: "HTTP/1"}
	_, text, _ := strings.Cut(statusLine, " ")
	if code, _, ok := strings.Cut(text, " "); ok {
		if status, err := strconv.Atoi(code); err == nil {
			r.Status = status
		}
	}
	if version := ProxyVersion(append(bytes.Clone(h.EmptyLines), h.Data...)); h.Known && version > 0 {
		r.Protocol = "PROXY v" + strconv.Itoa(version)
		r.Reason, r.Detail = ReasonProxyProtocol, DetailProxy
		return r
	}
	parsed := parse(h.Data)
	if h.Known && strings.HasPrefix(parsed.version, "HTTP/") {
		r.Protocol = parsed.version[:min(len(parsed.version), len("HTTP/1.1"))]
	}
	r.Reason, r.Detail = explainStatus(r.Status)
	if r.Reason == "" && !h.Known {
		r.Reason, r.Detail = ReasonOther, text+", in a request that was sent before the response to another request"
	}
	if r.Reason == "" {
		r.Reason, r.Detail = parsed.explain(h.Ended)
	}
	return r
}

// explainStatus returns the reason for a status that has only one possible reason, or "" for other statuses.
func explainStatus(status int) (reason, detail string) {
	switch status {
	case http.StatusNotImplemented:
		return ReasonTransferEncoding, "Transfer-Encoding must be chunked, exactly once"
	case http.StatusHTTPVersionNotSupported:
		return ReasonRequestLine, "the version is neither HTTP/1.0 nor HTTP/1.1"
	case http.StatusExpectationFailed:
		return ReasonExpectation, "Expect must be 100-continue"
	}
	return "", ""
}

type requestHeader struct {
	line                    []string // the space-separated parts of the first line
	method, target, version string
	fields                  []field
}

type field struct{ name, value string }

// parse splits a header into its parts, and ignores an incomplete last line. Lines that begin with whitespace continue the value of the
// previous line (RFC 9112, 5.2).
func parse(data []byte) (h requestHeader) {
	for line := range strings.Lines(string(data)) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break
		}
		line = strings.TrimSuffix(line, "\r")
		last := len(h.fields) - 1
		switch {
		case h.line == nil:
			h.line = strings.SplitN(line, " ", 3)
		case line == "":
			return h.withLine()
		case last >= 0 && (line[0] == ' ' || line[0] == '\t'):
			h.fields[last].value += " " + strings.Trim(line, " \t")
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				name = "" // the name is not valid, and the line may be part of a secret
			}
			h.fields = append(h.fields, field{name, strings.Trim(value, " \t")})
		}
	}
	return h.withLine()
}

func (h requestHeader) withLine() requestHeader {
	if len(h.line) == 3 {
		h.method, h.target, h.version = h.line[0], h.line[1], h.line[2]
	}
	return h
}

// explain checks the parts of a header in the same order as net/http.
func (h requestHeader) explain(ended bool) (reason, detail string) {
	if h.line != nil {
		reason, detail = h.explainLine()
	}
	if reason == "" {
		reason, detail = h.explainFields()
	}
	switch {
	case reason != "":
		return reason, detail
	case !ended:
		return ReasonIncomplete, "the connection ended before the empty line after the header"
	}
	if reason, detail = h.explainHost(); reason == "" {
		reason, detail = h.explainLengths()
	}
	if reason == "" {
		return ReasonOther, "net/http gives no reason"
	}
	return reason, detail
}

// explainLine returns the reason why the request line is not valid. The reason does not quote the line, because paths and queries can
// contain secrets.
func (h requestHeader) explainLine() (reason, detail string) {
	target := h.target
	if h.method == http.MethodConnect && !strings.HasPrefix(target, "/") {
		target = "http://" + target
	}
	_, err := url.ParseRequestURI(target)
	escape, isEscape := errors.AsType[url.EscapeError](err)
	_, _, isVersion := http.ParseHTTPVersion(h.version)
	switch {
	case len(h.line) != 3:
		detail = "the first line does not consist of a method, a target, and a version"
	case !httpguts.ValidHeaderFieldName(h.method): // a method is a token, like a field name
		detail = "the method is not a token"
	case !isVersion:
		detail = "the first line does not end in a version such as HTTP/1.1; a target must not contain spaces"
	case isEscape:
		detail = "the target contains " + strconv.Quote(string(escape)) + ", which is not a valid escape"
	case err != nil:
		detail = "the target is neither a path nor a URL"
	default:
		return "", ""
	}
	return ReasonRequestLine, detail
}
