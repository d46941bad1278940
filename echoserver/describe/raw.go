package describe

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxRaw is the maximum length of a RawList. All fields of a header and a trailer fit into the list. If query parameters do not fit,
	// the path still contains them.
	maxRaw = 250
	// rawCost is the number of bytes that each listed value adds to a response, not counting the value and its name.
	rawCost = 80
)

// Raw is a request value that is not valid UTF-8. The rest of the response shows each run of invalid bytes as one U+FFFD.
type Raw struct {
	Where  string `json:"where"`
	Name   string `json:"name,omitempty"`
	Index  int    `json:"index"` // the position among the shown values with this name
	Base64 []byte `json:"base64"`
}

// RawList lists the request values that are not valid UTF-8.
type RawList []Raw

// Add adds a value, unless it is valid UTF-8, and returns the text to show for it.
func (l *RawList) Add(raw Raw, value string) (shown string) {
	if utf8.ValidString(value) {
		return value
	}
	if len(*l) < maxRaw {
		raw.Base64 = []byte(value)
		*l = append(*l, raw)
	}
	return ValidText(value)
}

// AddFields adds each value that is not UTF-8, and returns the fields to show. It combines the values of names that differ only in invalid
// bytes, because JSON would show these names as the same.
func (l *RawList) AddFields(where string, fields map[string][]string) map[string][]string {
	if countRaw(fields) == 0 { // nearly always
		return fields
	}
	shown := make(map[string][]string, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		shownName := ValidText(name)
		values := shown[shownName]
		for _, value := range fields[name] {
			values = append(values, l.Add(Raw{Where: where, Name: shownName, Index: len(values)}, value))
		}
		shown[shownName] = values
	}
	return shown
}

// mostRaw returns an upper bound on the number of values that a request adds to the list.
func mostRaw(r *http.Request) int {
	most := countRaw(r.Header) + countRaw(r.Trailer) + strings.Count(r.URL.RawQuery, "%")
	for _, text := range []string{r.RequestURI, r.Host, r.Method} {
		if !utf8.ValidString(text) {
			most++
		}
	}
	if !utf8.ValidString(r.URL.RawQuery) {
		most += maxParameters
	}
	return min(most, maxRaw)
}

// countRaw returns how many names and values are not UTF-8.
func countRaw(fields map[string][]string) (count int) {
	for name, values := range fields {
		if !utf8.ValidString(name) {
			count++
		}
		for _, value := range values {
			if !utf8.ValidString(value) {
				count++
			}
		}
	}
	return count
}

// ValidText replaces each run of bytes that are not UTF-8, which protobuf rejects, with U+FFFD. encoding/json would replace each byte, which takes longer than the
// rest of a large response.
func ValidText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// String returns the value as the page shows it.
func (r *Raw) String() string {
	name := ""
	if r.Name != "" {
		name = "; name=" + printable(r.Name)
	}
	return fmt.Sprintf("where=%s%s; index=%d; base64=%s", r.Where, name, r.Index, base64.StdEncoding.EncodeToString(r.Base64))
}
