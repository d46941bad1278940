// Package describe is what a response shows of a request, its client and the server, as JSON, text or a page.
package describe
