package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// byteRange is a part of a response, from first to last.
type byteRange struct{ first, last int }

// partOf limits a response of a requested size to the range that the request asks for (RFC 9110, 14.2). Several ranges would let a short
// request ask for a long response, so they are ignored like those that are not valid. There is no validator that If-Range could have.
func (c *content) partOf(r *http.Request, status int) {
	unit, text, _ := strings.Cut(r.Header.Get("Range"), "=")
	if r.Method != http.MethodGet || status != http.StatusOK {
		return
	}
	c.ranges = "bytes"
	wanted, ok := parseRange(text, c.length)
	if unit != "bytes" || !ok || r.Header.Get("If-Range") != "" {
		return
	}
	if wanted.first >= c.length {
		c.status, c.part = http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("bytes */%d", c.length)
		c.source, c.length = filler{}, 0
		return
	}
	c.status, c.part = http.StatusPartialContent, fmt.Sprintf("bytes %d-%d/%d", wanted.first, wanted.last, c.length)
	c.source, c.length = filler{wanted.first, wanted.last + 1}, wanted.last+1-wanted.first
}

// parseRange parses the only range of a header: first-last, first-, or -length for the end.
func parseRange(text string, size int) (byteRange, bool) {
	first, last, ok := strings.Cut(strings.TrimSpace(text), "-")
	end, noEnd := parsePosition(last)
	if first == "" {
		return byteRange{max(0, size-end), size - 1}, ok && noEnd == nil && end > 0
	}
	begin, noBegin := parsePosition(first)
	if last == "" {
		end, noEnd = size-1, nil
	}
	return byteRange{begin, min(end, size-1)}, ok && noBegin == nil && noEnd == nil && (begin <= end || last == "")
}

// parsePosition parses a number of bytes, which may be larger than any response.
func parsePosition(text string) (int, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	position, err := strconv.ParseUint(text, 10, 31)
	return int(position), err
}
