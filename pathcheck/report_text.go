package pathcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
)

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}

// WriteText writes the report as text. Text from servers is already printable ASCII.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, at %s\n%s, %s\n%d requests, %d bytes, %s\n\n", fact.Printable(r.URL), fact.Printable(r.Address), r.From.text(),
		r.From.Note, r.Requests, r.Bytes, r.Took)
	if r.Problem != "" {
		fmt.Fprintf(&b, "Nothing was tested: %s\n", r.Problem)
	}
	table := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	title := "FACT\tVALUE\tRECEIVED\n"
	for _, each := range r.Facts {
		_, _ = fmt.Fprintf(table, "%s%s\t%s\t%s\n", title, each.Name, each.Value, fact.Cut(each.Received, 100)) // never fails
		title = ""
	}
	title = map[bool]string{true: "\n"}[len(r.Facts) > 0] + "NOT TESTED\tREASON\n"
	for _, each := range r.NotTested {
		_, _ = fmt.Fprintf(table, "%s%s\t%s\n", title, each.Name, each.Reason)
		title = ""
	}
	title = "\nEXPECTED\tWANT\tGOT\n"
	for _, each := range r.Expected {
		_, _ = fmt.Fprintf(table, "%s%s\t%s\t%s\n", title, each.Name, fact.Printable(each.Want), each.text())
		title = ""
	}
	_ = table.Flush() // writing to the buffer never fails
	_, err := w.Write(b.Bytes())
	return err
}

func (f From) text() string {
	if f.Host == "" {
		return "from " + f.Address
	}
	return "from " + fact.Printable(f.Host) + " " + f.Address
}

func (r Result) text() string {
	switch {
	case r.OK:
		return r.Got
	case r.Got == "":
		return "not known: FAILED"
	}
	return r.Got + ": FAILED"
}
