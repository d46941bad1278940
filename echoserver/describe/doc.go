// Package describe renders a description of a request, its client, and the server as JSON, text, or a page.
package describe
