package describe

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Text returns the response as plain text in UTF-8: the request, then the client and the server.
func (a *Response) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\nHost: %s\n", a.Method, a.Path, a.Proto, a.Host)
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		for _, value := range a.Headers[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n")
	for _, line := range a.facts() {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	if body := a.Request.Body; body != nil {
		fmt.Fprintf(&b, "body: %s\n\n%s\n", body, body.Data)
	}
	if utf8.Valid(b.Bytes()) { // nearly always
		return b.Bytes()
	}
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))
}

// facts returns the names and values for the text. The caller omits empty values.
func (a *Response) facts() [][2]string {
	facts := [][2]string{
		{"request", a.Request.ID},
		{"client", a.Client.Address},
		{"namespace", a.Namespace},
		{"ingress", a.Ingress},
		{"service", a.Service},
		{"pod", a.Pod},
		{"node", a.Server.Node},
		{"version", a.Server.Version},
	}
	facts = append(facts, a.TLS.facts(a.Client.Certificate)...)
	for _, name := range slices.Sorted(maps.Keys(a.Server.Info)) {
		facts = append(facts, [2]string{name, a.Server.Info[name]})
	}
	if a.Applied != nil {
		facts = append(facts, [2]string{"applied", a.Applied.String()})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Request.Trailers)) {
		for _, value := range a.Request.Trailers[name] {
			facts = append(facts, [2]string{"trailer " + printable(name), value})
		}
	}
	for i := range a.Request.Raw {
		facts = append(facts, [2]string{"raw", a.Request.Raw[i].String()})
	}
	return facts
}
