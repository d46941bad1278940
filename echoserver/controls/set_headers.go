package controls

import (
	"net/http"
	"strings"
)

// SetHeaders sets the headers of the controls. They replace the headers of the server, except for Vary: the response depends on what the
// server lists there, whatever else it depends on. Vary remains one line, because nginx before 1.23 obeys only the last.
func (c *Controls) SetHeaders(target http.Header) {
	for _, each := range c.Headers {
		if !isVary(each) {
			target.Del(each.Name)
		}
	}
	for _, each := range c.Headers {
		if isVary(each) {
			target.Set(each.Name, target.Get(each.Name)+","+each.Value)
		} else {
			target.Add(each.Name, each.Value)
		}
	}
}

func isVary(h Header) bool { return strings.EqualFold(h.Name, "Vary") }
