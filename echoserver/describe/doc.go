// Package describe shows a request, its client and the server in a response, as JSON, text or a page.
package describe
