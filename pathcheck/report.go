package pathcheck

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

type (
	// Fact describes an effect of the path on requests or responses.
	Fact = probe.Fact
	// NotTested is the name of a group or a fact that could not be fully examined, and the reason.
	NotTested = probe.NotTested
	// Definition is the meaning of a fact.
	Definition = probe.Definition
)

// FactTable returns the definitions of all facts.
func FactTable() []Definition { return probe.FactTable() }

// Report is the result of a run.
type Report struct {
	Version   string      `json:"version"`
	URL       string      `json:"url"`
	Address   string      `json:"address"` // the address to which the requests were sent
	Echo      string      `json:"echo,omitempty"`
	From      From        `json:"from"`
	Time      time.Time   `json:"time"`
	Took      string      `json:"took"`
	Requests  int         `json:"requests"`
	Bytes     int64       `json:"bytes"` // sent and received
	Problem   string      `json:"problem,omitempty"`
	Facts     []Fact      `json:"facts"`
	NotTested []NotTested `json:"notTested,omitempty"`
	Expected  []Result    `json:"expected,omitempty"`

	groups []string        // the selected groups
	silent verdict.Silence // for the verdict of a report with a Problem
}

// From describes where a run started.
type From struct {
	Host      string `json:"host,omitempty"`
	Address   string `json:"address,omitempty"`
	InCluster bool   `json:"inCluster"`
	Note      string `json:"note"`
}

func newReport(o *Options, t *wire.Target) *Report {
	host, _ := os.Hostname() // empty if unknown
	r := &Report{Version: o.Version, URL: o.URL, Address: t.Dial, Time: time.Now().UTC().Truncate(time.Second), Facts: []Fact{},
		groups: o.Groups,
		From:   From{Host: host, Note: "from outside a cluster, as far as this program knows"}}
	if r.From.InCluster = os.Getenv("KUBERNETES_SERVICE_HOST") != ""; r.From.InCluster {
		r.From.Note = "from a pod: kube-proxy may bypass this cluster's own load balancers"
	}
	if o.Echo.Name != "" {
		r.Echo = o.Echo.Namespace + "/" + o.Echo.Name
	}
	return r
}

func (r *Report) finish(expectations []Expectation) {
	r.Took = time.Since(r.Time).Round(time.Second).String()
	for _, each := range expectations {
		r.Expected = append(r.Expected, each.judge(r))
	}
}

func (r *Report) fact(name string) *probe.Fact {
	if i := slices.IndexFunc(r.Facts, func(f probe.Fact) bool { return f.Name == name }); i >= 0 {
		return &r.Facts[i]
	}
	return nil
}

// OK reports whether the Echo was found and the facts meet all expectations.
func (r *Report) OK() bool {
	return r.Problem == "" && !slices.ContainsFunc(r.Expected, func(e Result) bool { return !e.OK })
}

// maxPinned is the maximum number of expectations in a check.
const maxPinned = 64

// WriteExpect writes YAML for a check that expects the path to stay unchanged. The YAML contains the facts, the selected groups, and
// comments about everything that was not tested.
func (r *Report) WriteExpect(w io.Writer) error {
	pinned := r.pinned()
	switch {
	case r.Problem != "":
		_, err := fmt.Fprintf(w, "# nothing was tested: %s\n", r.Problem)
		return err
	case len(pinned) > maxPinned:
		return fmt.Errorf("%d facts exceed the maximum of %d expectations per check: examine fewer groups, such as --groups=client,request",
			len(pinned), maxPinned)
	}
	var b strings.Builder
	for _, each := range r.NotTested {
		fmt.Fprintf(&b, "# %s was not tested: %s\n", each.Name, each.Reason)
	}
	if len(r.groups) > 0 {
		fmt.Fprintf(&b, "groups: [%s]\n", strings.Join(r.groups, ", "))
	}
	b.WriteString("expect:\n")
	for _, each := range pinned {
		fmt.Fprintf(&b, "- {fact: %s, value: %q}\n", each.Name, each.Want) // Go and YAML quote printable ASCII in the same way
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pinned returns the expectations that the current facts meet. It omits facts that differ between runs, and values that are not valid in an
// expectation, such as a server's string that begins with >=.
func (r *Report) pinned() []Expectation {
	var pinned []Expectation
	for _, each := range r.Facts {
		e, err := ParseExpectation(each.Name + "=" + each.Value)
		if err == nil && e.met(each.Value) && !each.Detail {
			pinned = append(pinned, e)
		}
	}
	return pinned
}

//go:embed report.html
var reportPage string

// section contains the facts in a group.
type section struct {
	Name  string
	Facts []probe.Fact
}

// WriteHTML writes the report as a self-contained HTML page without scripts. html/template escapes data from servers.
func (r *Report) WriteHTML(w io.Writer) error {
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		*Report
		Sections []section
	}{r, r.sections()})
}

func (r *Report) sections() (all []section) {
	for _, each := range r.Facts {
		name, _, _ := strings.Cut(each.Name, ".")
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, section{Name: name})
		}
		last := &all[len(all)-1]
		last.Facts = append(last.Facts, each)
	}
	return all
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}

// WriteText writes the report as text. Text from servers is already printable ASCII.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, at %s\n%s, %s\n%d requests, %d bytes, %s\n\n", probe.Printable(r.URL), probe.Printable(r.Address), r.From.text(),
		r.From.Note, r.Requests, r.Bytes, r.Took)
	if r.Problem != "" {
		fmt.Fprintf(&b, "Nothing was tested: %s\n", r.Problem)
	}
	table := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	title := "FACT\tVALUE\tRECEIVED\n"
	for _, each := range r.Facts {
		_, _ = fmt.Fprintf(table, "%s%s\t%s\t%s\n", title, each.Name, each.Value, probe.Cut(each.Received, 100)) // never fails
		title = ""
	}
	title = map[bool]string{true: "\n"}[len(r.Facts) > 0] + "NOT TESTED\tREASON\n"
	for _, each := range r.NotTested {
		_, _ = fmt.Fprintf(table, "%s%s\t%s\n", title, each.Name, each.Reason)
		title = ""
	}
	title = "\nEXPECTED\tWANT\tGOT\n"
	for _, each := range r.Expected {
		_, _ = fmt.Fprintf(table, "%s%s\t%s\t%s\n", title, each.Name, probe.Printable(each.Want), each.text())
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
	return "from " + probe.Printable(f.Host) + " " + f.Address
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
