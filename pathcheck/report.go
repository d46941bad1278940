package pathcheck

import (
	"os"
	"slices"
	"time"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

type (
	// Fact describes an effect of the path on requests or responses.
	Fact = fact.Fact
	// NotTested is the name of a group or a fact that could not be fully examined, and the reason.
	NotTested = fact.NotTested
	// Definition is the meaning of a fact.
	Definition = fact.Definition
)

// FactTable returns the definitions of all facts.
func FactTable() []Definition { return fact.Table() }

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

	groups []string            // the selected groups
	silent pathverdict.Silence // for the verdict of a report with a Problem
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

func (r *Report) fact(name string) *fact.Fact {
	if i := slices.IndexFunc(r.Facts, func(f fact.Fact) bool { return f.Name == name }); i >= 0 {
		return &r.Facts[i]
	}
	return nil
}

// OK reports whether the Echo was found and the facts meet all expectations.
func (r *Report) OK() bool {
	return r.Problem == "" && !slices.ContainsFunc(r.Expected, func(e Result) bool { return !e.OK })
}
