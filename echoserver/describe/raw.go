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
	Where      string `json:"where"`
	Name       string `json:"name,omitempty"`
	Index      int    `json:"index"`  // the position among the shown values with this name
	Base64     []byte `json:"base64"` // null for a name without a value
	NameBase64 []byte `json:"nameBase64,omitempty"`
}

// RawList lists the request values that are not valid UTF-8.
type RawList []Raw

// Add adds a value, unless it is valid UTF-8, and returns the text to show for it.
func (l *RawList) Add(where, value string) (shown string) {
	if shown = validText(value); shown != value {
		l.append(Raw{Where: where, Base64: []byte(value)})
	}
	return shown
}

// AddFields adds each value that is not UTF-8 or whose name is not UTF-8. It returns the fields with valid names, and combines the
// values of names that differ only in invalid bytes, because JSON would show these names as the same.
func (l *RawList) AddFields(where string, fields map[string][]string) map[string][]string {
	if countRaw(fields) == 0 { // nearly always
		return fields
	}
	shown := make(map[string][]string, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		shownName := validText(name)
		var nameBytes []byte
		if !utf8.ValidString(name) {
			nameBytes = []byte(name)
		}
		values := shown[shownName]
		for _, value := range fields[name] {
			if nameBytes != nil || !utf8.ValidString(value) {
				l.append(Raw{Where: where, Name: shownName, Index: len(values), Base64: []byte(value), NameBase64: nameBytes})
			}
			values = append(values, validText(value))
		}
		shown[shownName] = values
		if nameBytes != nil && len(fields[name]) == 0 {
			l.append(Raw{Where: where, Name: shownName, NameBase64: nameBytes})
		}
	}
	return shown
}

func (l *RawList) append(raw Raw) {
	if len(*l) < maxRaw {
		*l = append(*l, raw)
	}
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

// countRaw returns how many field values are not UTF-8. If a name is not UTF-8, all its values count.
func countRaw(fields map[string][]string) (count int) {
	for name, values := range fields {
		if !utf8.ValidString(name) {
			count += max(1, len(values))
			continue
		}
		for _, value := range values {
			if !utf8.ValidString(value) {
				count++
			}
		}
	}
	return count
}

// validText replaces each run of bytes that are not UTF-8 with U+FFFD. encoding/json would replace each byte, which takes longer than the
// rest of a large response.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// String returns the value as the page shows it.
func (r *Raw) String() string {
	var b strings.Builder
	b.WriteString("where=" + r.Where)
	if r.Name != "" {
		b.WriteString("; name=" + printable(r.Name))
	}
	fmt.Fprintf(&b, "; index=%d", r.Index)
	for _, part := range []struct {
		name string
		data []byte
	}{{"base64", r.Base64}, {"nameBase64", r.NameBase64}} {
		if part.data != nil {
			b.WriteString("; " + part.name + "=" + base64.StdEncoding.EncodeToString(part.data))
		}
	}
	return b.String()
}
