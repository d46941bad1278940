package describe

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// maxIndented is the maximum size, in bytes, of JSON that the server indents. People do not read longer JSON, and indenting it takes as
// long as encoding it.
const maxIndented = 16 << 10

// CompactJSON returns the response as JSON with a line break at its end. For HTML, markup characters are escaped.
func (a *Response) CompactJSON(forHTML bool) []byte { return a.encode(forHTML, "") }

// IndentedJSON returns indented JSON, or compact JSON if the result would be longer than maxIndented. To choose compact JSON, it usually
// needs only the size, in bytes, of the described data.
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
	_ = encoder.Encode(a) // writing to a buffer never fails, and all types can be encoded
	return b.Bytes()
}

// MaxBytes returns the maximum size, in bytes, of the description of a request with a body. JSON needs up to six bytes to represent one
// byte. The description contains query parameters twice, and lists the values that are not UTF-8.
func MaxBytes(e *exchange.Exchange, r *http.Request, b *exchange.Body) int64 {
	const escape = 6
	return escape*(e.DescribedSize(b)+int64(len(r.URL.RawQuery))) + int64(rawCost*mostRaw(r))
}
