package describe

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// maxIndented is the maximum size of JSON that is indented, in bytes: people read no longer one, and indentation takes as long as encoding.
const maxIndented = 16 << 10

// CompactJSON returns the response as JSON with a line break at its end. For HTML, characters of markup are escaped.
func (a *Response) CompactJSON(forHTML bool) []byte { return a.encode(forHTML, "") }

// IndentedJSON is compactJSON for people, unless it is longer than maxIndented. The size of what it describes, in bytes, shows in most
// cases that it is longer.
func (a *Response) IndentedJSON(described int64) []byte {
	if described > maxIndented {
		return a.CompactJSON(false)
	}
	indented := a.encode(false, " ")
	if len(indented) > maxIndented { // because of escapes
		return a.CompactJSON(false)
	}
	return indented
}

func (a *Response) encode(forHTML bool, indent string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(forHTML)
	encoder.SetIndent("", indent)
	_ = encoder.Encode(a) // a buffer never fails, and all types can be encoded
	return b.Bytes()
}

// MaxBytes returns the maximum size of the description of a request with a body, in bytes: JSON needs up to six bytes for one, the
// parameters of a query are in it twice, and what is not UTF-8 is listed.
func MaxBytes(e *exchange.Exchange, r *http.Request, b *exchange.Body) int64 {
	const escape = 6
	return escape*(e.DescribedSize(b)+int64(len(r.URL.RawQuery))) + int64(rawCost*mostRaw(r))
}
