package pathcheck

import (
	"bytes"
	"cmp"
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
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

type (
	// Fact describes an effect of the path on requests or responses.
	Fact = probe.Fact
	// NotTested is the name of a group or a fact that could not be fully examined, and the reason.
	NotTested = probe.NotTested
	// Definition is the meaning of a fact.
	Definition = probe.Definition
	// Expectation is a requirement for a fact.
	Expectation = verdict.Expectation
)

// Result is the result of comparing an expectation with the facts.
type Result struct {
	Expectation
	Got    string `json:"got,omitempty"` // empty if the fact is unknown
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"` // why the result is unknown; empty if it is known
}

// FactTable returns the definitions of all facts.
func FactTable() []Definition { return probe.FactTable() }

// Report is the result of a run.
type Report struct {
	Version   string      `json:"version"`
	URL       string      `json:"url"`
	Address   string      `json:"address"`         // the address to which the requests were sent
	Proxy     string      `json:"proxy,omitempty"` // the host and port of the forward proxy through which the requests were sent
	Echo      string      `json:"echo,omitempty"`
	From      From        `json:"from"`
	Time      time.Time   `json:"time"`
	Took      string      `json:"took"`
	Requests  int         `json:"requests"`
	Bytes     int64       `json:"bytes"` // sent and received
	Problem   string      `json:"problem,omitempty"`
	Findings  []Finding   `json:"findings,omitempty"`
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

func newReport(o *Options, address string) *Report {
	host, _ := os.Hostname() // empty if unknown
	r := &Report{Version: o.Version, URL: o.URL, Address: address, Time: time.Now().UTC().Truncate(time.Second), Facts: []Fact{},
		groups: o.Groups, From: From{Host: host, Note: "from outside a cluster, as far as this program knows"}}
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
		result := Result{Expectation: each}
		if fact := r.fact(each.Fact); fact != nil {
			result.Got, result.OK = fact.Value, each.Met(fact.Value)
			by := r.fact(each.Fact + ".by")
			isLeast := strings.HasPrefix(fact.Value, ">") || by != nil && by.Value == probe.None // the limit is not known, but is no lower
			if isLeast && (each.Operator == verdict.AtLeast && !result.OK || each.Operator == verdict.AtMost && result.OK) {
				result = Result{Expectation: each, Reason: "the run tested no more than " + strings.TrimPrefix(fact.Value, ">")}
			} else if !result.OK && each.Operator == verdict.AtLeast && each.Met(fact.Refused) &&
				!(Expectation{Operator: verdict.AtLeast, Values: []string{fact.Refused}}).Met(each.Values[0]) {
				result = Result{Expectation: each, Reason: "the run tests nothing between " + fact.Value + " and " + fact.Refused}
			}
		} else {
			result.Reason = r.whyUnknown(each.Fact)
		}
		r.Expected = append(r.Expected, result)
	}
}

// whyUnknown returns the reason why the report does not contain a fact: the reason for the fact, for the fact whose member it is, or for
// its group.
func (r *Report) whyUnknown(fact string) string {
	whole, _, _ := strings.Cut(fact, "[")
	examiner := groupOf(whole)
	for _, name := range []string{fact, whole, examiner, "path"} {
		if i := slices.IndexFunc(r.NotTested, func(n NotTested) bool { return n.Name == name }); i >= 0 {
			return r.NotTested[i].Reason
		}
	}
	return "the run did not report it"
}

func (r *Report) fact(name string) *Fact {
	if i := slices.IndexFunc(r.Facts, func(f Fact) bool { return f.Name == name }); i >= 0 {
		return &r.Facts[i]
	}
	return nil
}

// ExitCode returns the exit code of a program that prints the report: 0 if all expectations are met, 1 if an expectation is not met or no
// Echo responds, and 3 if no expectation is unmet but one is unknown.
func (r *Report) ExitCode() int {
	unknown := func(e Result) bool { return e.Reason != "" }
	switch {
	case r.Problem != "", slices.ContainsFunc(r.Expected, func(e Result) bool { return !e.OK && !unknown(e) }):
		return 1
	case slices.ContainsFunc(r.Expected, unknown):
		return 3
	}
	return 0
}

// WriteText writes the report as text. Text from servers is already printable ASCII.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	from := r.From.Address
	if r.From.Host != "" {
		from = probe.Printable(r.From.Host) + " " + from
	}
	at := strings.TrimSpace(r.Address + " " + probe.Through(r.Proxy))
	fmt.Fprintf(&b, "%s, at %s\nfrom %s, %s\n%d requests, %d bytes, %s\n\n", probe.Printable(r.URL), probe.Printable(at), from,
		r.From.Note, r.Requests, r.Bytes, r.Took)
	if r.Problem != "" {
		fmt.Fprintf(&b, "Nothing was tested: %s\n", r.Problem)
	} else {
		r.writeFindings(&b)
	}
	table := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	title := "\nEXPECTED\tWANT\tGOT\n"
	for _, each := range r.Expected {
		got := each.Got
		if each.Reason != "" {
			got = "unknown: " + each.Reason
		} else if !each.OK {
			got += ": FAILED"
		}
		_, _ = fmt.Fprintf(table, "%s%s\t%s\t%s\n", title, each.Fact, probe.Printable(each.Want()), got) // never fails
		title = ""
	}
	_ = table.Flush() // writing to the buffer never fails
	if len(r.Facts)+len(r.NotTested) > 0 {
		r.writeFacts(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}

//go:embed report.html
var reportPage string

// WriteHTML writes the report as a self-contained HTML page without scripts. html/template escapes data from servers.
func (r *Report) WriteHTML(w io.Writer) error {
	section := func(fact string) string { return strings.SplitN(fact, ".", 2)[0] }
	page, err := template.New("report").Funcs(template.FuncMap{"section": section}).Parse(reportPage)
	if err != nil {
		return err
	}
	return page.Execute(w, r)
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
		operator := ""
		if each.Operator != "" {
			operator = ", operator: " + each.Operator
		}
		fmt.Fprintf(&b, "- {fact: %q%s, values: [%q]}\n", each.Fact, operator, each.Values[0]) // Go and YAML quote ASCII in the same way
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pinned returns the expectations that the current facts meet. It omits facts that differ between runs, and values that are not valid in an
// expectation, such as a server's string that begins with >=.
func (r *Report) pinned() []Expectation {
	var pinned []Expectation
	for _, each := range r.Facts {
		e := Expectation{Fact: each.Name, Values: []string{each.Value}}
		if each.Name == "body.max" { // a run that expects a size tries larger ones
			e.Operator = verdict.AtLeast
		}
		if e.Validate() == nil && !each.Detail {
			pinned = append(pinned, e)
		}
	}
	return pinned
}

// Verdict returns the part of a report that fits into a container's termination message, as JSON of at most 4,000 bytes.
func (r *Report) Verdict() []byte {
	v := verdict.Verdict{Problem: probe.Cut(r.Problem, verdict.MaxText), Facts: len(r.Facts), Silent: r.silent}
	for _, each := range r.NotTested {
		if each.Unfinished && v.Unfinished != verdict.DeadlinePassed { // the deadline takes precedence over other reasons
			v.Unfinished = probe.Cut(probe.Printable(each.Reason), verdict.MaxText)
		}
	}
	if v.Silent != "" {
		v.Address = probe.Cut(probe.Printable(cmp.Or(r.Proxy, r.Address)), verdict.MaxText)
	}
	for _, each := range r.Expected {
		switch {
		case each.OK:
			continue
		case each.Reason != "":
			v.Unknown = append(v.Unknown, verdict.Unknown{Name: each.Fact, Reason: probe.Cut(probe.Printable(each.Reason), verdict.MaxText)})
			continue
		}
		fact, got := r.fact(each.Fact), probe.Cut(each.Got, verdict.MaxText)
		if fact != nil && fact.Detail && verdict.IsTime(got) {
			got = "another time" // a measured time would make a lasting failure look new in each run
		}
		v.Failed = append(v.Failed, verdict.Unmet{Name: each.Fact, Want: probe.Cut(probe.Printable(each.Want()), verdict.MaxText), Got: got})
	}
	return v.Encode()
}
