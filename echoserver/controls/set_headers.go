package controls

import (
	"net/http"
	"strings"
)

// SetHeaders sets the headers that the controls specify. They replace the server's headers of the same name, except that they extend Vary,
// because the response still depends on the headers that the server lists there. Vary is one line, because nginx before 1.23 obeys only the
// last line.
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
