// Package replay contains the code that the benchmark and its raw writer share: a template of the operator's writes for one Echo, and a
// client that sends the writes.
package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Write is a recorded write by the operator, with the API server's response.
type Write struct {
	Method, URI, ContentType, Accept string
	Body, Answer                     []byte
}

// Value names a value in a response.
type Value string

// These are the values that later requests may need.
const (
	UID     Value = "uid"
	Version Value = "resourceVersion"
)

// Piece is a part of a request: text, the name of the Echo, or a value from an earlier response. Answer 0 is the response to the Echo's
// creation, and answer 1 is the response to the first write.
type Piece struct {
	Text   []byte `json:",omitempty"`
	Name   bool   `json:",omitempty"`
	Value  Value  `json:",omitempty"`
	Answer int    `json:",omitempty"`
}

// Request is the template of one write.
type Request struct {
	Method, ContentType, Accept string
	URI, Body                   []Piece
	// Needs are the values that later requests take from the response.
	Needs []Value `json:",omitempty"`
}

// Template contains the operator's writes for an Echo. Requests may contain any value from answer 0.
type Template struct{ Requests []Request }

// hole is a string in a request, and the piece that replaces the string.
type hole struct {
	text  []byte
	piece Piece
}

// NewTemplate turns the response to an Echo's creation and the writes for the Echo into a template. The names of other Echoes must be as
// long as this Echo's name, because an encoded body may contain lengths.
func NewTemplate(name string, created []byte, writes []Write) (Template, error) {
	holes := []hole{{[]byte(name), Piece{Name: true}}}
	var versions []hole
	t := Template{}
	learn := func(answer []byte, number int) {
		if uid := Find(answer, UID); uid != nil {
			holes = append(holes, hole{uid, Piece{Value: UID, Answer: number}})
		}
		if version := Find(answer, Version); version != nil {
			text := fmt.Appendf(nil, "%s%s\"", versionKey, version)
			versions = append([]hole{{text, Piece{Value: Version, Answer: number}}}, versions...) // the newest first
		}
	}
	learn(created, 0)
	for i, w := range writes {
		within := holes
		if isJSON(w.ContentType) { // in other formats, versions remain as recorded
			within = slices.Concat(holes, versions)
		}
		r := Request{Method: w.Method, ContentType: w.ContentType, Accept: w.Accept, URI: split([]byte(w.URI), holes),
			Body: split(w.Body, within)}
		if isJSON(w.ContentType) && unknownVersion(r.Body) {
			return t, fmt.Errorf("%s %s depends on the version of an object that was not written before", w.Method, w.URI)
		}
		t.Requests = append(t.Requests, r)
		learn(w.Answer, i+1)
	}
	t.setNeeds()
	return t, nil
}

func isJSON(contentType string) bool {
	return strings.Contains(contentType, "json") || strings.Contains(contentType, "yaml")
}

const (
	versionKey = `"resourceVersion":"`
	// noVersion is a version that no object has. The operator uses it to create objects.
	noVersion = versionKey + `1"`
)

func unknownVersion(body []Piece) bool {
	for i, p := range body {
		text := bytes.ReplaceAll(p.Text, []byte(noVersion), nil)
		if before, _, ok := bytes.Cut(text, []byte(versionKey)); ok && (i == len(body)-1 || len(before)+len(versionKey) < len(text)) {
			return true
		}
	}
	return false
}

// split cuts a string at holes. If two holes begin at the same position, the hole that is listed first takes precedence.
func split(text []byte, holes []hole) []Piece {
	var pieces []Piece
	for {
		at, found := len(text), hole{}
		for _, h := range holes {
			if i := bytes.Index(text, h.text); i >= 0 && i < at {
				at, found = i, h
			}
		}
		length := len(found.text)
		if found.piece.Value == Version { // only the number in the found text is the hole
			at, length = at+len(versionKey), length-len(versionKey)-1
		}
		if at > 0 {
			pieces = append(pieces, Piece{Text: text[:at]})
		}
		if length == 0 {
			return pieces
		}
		pieces, text = append(pieces, found.piece), text[at+length:]
	}
}

// setNeeds determines, for each response, which values later requests contain.
func (t *Template) setNeeds() {
	for _, r := range t.Requests {
		for _, p := range slices.Concat(r.URI, r.Body) {
			if p.Value == "" || p.Answer == 0 {
				continue
			}
			source := &t.Requests[p.Answer-1]
			if !slices.Contains(source.Needs, p.Value) {
				source.Needs = append(source.Needs, p.Value)
			}
		}
	}
}

// Answers contains the values from the responses for one Echo, beginning with the response to the Echo's creation.
type Answers []Known

// Known contains the known values of an object.
type Known struct{ UID, Version []byte }

// Keep stores values from a response.
func (k *Known) Keep(answer []byte, values []Value) error {
	for _, v := range values {
		found := Find(answer, v)
		if found == nil {
			return fmt.Errorf("no %s in the response %.200q", v, answer)
		}
		if v == UID {
			k.UID = bytes.Clone(found)
		} else {
			k.Version = bytes.Clone(found)
		}
	}
	return nil
}

// Append appends the text that the pieces produce for an Echo.
func Append(to []byte, pieces []Piece, name string, answers Answers) []byte {
	for i := range pieces {
		switch p := &pieces[i]; {
		case p.Name:
			to = append(to, name...)
		case p.Value == UID:
			to = append(to, answers[p.Answer].UID...)
		case p.Value == Version:
			to = append(to, answers[p.Answer].Version...)
		default:
			to = append(to, p.Text...)
		}
	}
	return to
}

const uidLength = 36

// Find returns a value from an object in the API server's JSON or protobuf encoding. It does not parse the object, but relies on the
// metadata being first. It returns nil if the value is missing.
func Find(object []byte, value Value) []byte {
	if bytes.HasPrefix(object, []byte("k8s\x00")) {
		return findProtobuf(object, value)
	}
	_, after, ok := bytes.Cut(object, []byte(`"`+string(value)+`":"`))
	if !ok {
		return nil
	}
	found, _, _ := bytes.Cut(after, []byte(`"`))
	return found
}

// findProtobuf returns a value from a protobuf-encoded object, or nil if the value is missing. It relies on the field numbers in
// ObjectMeta: the UID is field 5, and the resourceVersion follows it.
func findProtobuf(object []byte, value Value) []byte {
	const uidField, versionField = "\x2a\x24", 0x32
	for {
		_, after, ok := bytes.Cut(object, []byte(uidField))
		if !ok {
			return nil
		}
		if len(after) > uidLength+2 && after[8] == '-' && after[uidLength] == versionField {
			version := after[uidLength+2:]
			if value == UID {
				return after[:uidLength]
			}
			return version[:min(int(after[uidLength+1]), len(version))]
		}
		object = after
	}
}
