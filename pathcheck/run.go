package pathcheck

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
	"github.com/echo-operator/echo-operator/internal/proof"
)

// plainPath is the path of a plain request, below that of the Echo.
const plainPath = "/pathcheck"

var (
	errDeadline    = errors.New(pathverdict.DeadlinePassed)
	errInterrupted = errors.New("the run was interrupted")
)

// notApplicable is the error of a group that cannot be tested in any run.
type notApplicable string

func (n notApplicable) Error() string { return string(n) }

// Options are the options of a run.
type Options struct {
	URL     string
	Address string     // replaces what DNS says, if it is not empty
	Direct  string     // the URL of the same Echo without the way, to compare latencies; may be empty
	Source  netip.Addr // the address to send from; the zero value leaves that to the system
	Echo    proof.Echo // which Echo must respond; the zero value accepts any
	Groups  []string   // which are examined; empty for all but those that take pods out or take long
	CA      []byte     // PEM of certificates that are trusted besides those of browsers
	Expect  []Expectation
	Version string // of this program

	Deadline time.Duration // how long the run takes at most
}

// member is a group that a run can have.
type member struct {
	name    string
	examine func(context.Context, *group) error
	needs   func(*known) string // returns why the group cannot be tested, or ""
	optIn   bool                // only if it is named
	last    bool                // alone, after the others
}

func members() []member {
	nothing := func(*known) string { return "" }
	return []member{
		{name: "request", examine: examineRequest, needs: descriptions},
		{name: "client", examine: examineClient, needs: descriptions},
		{name: "tls", examine: examineTLS, needs: nothing},
		{name: "body", examine: examineBody, needs: descriptions},
		{name: "answer", examine: examineAnswer, needs: nothing},
		{name: "websocket", examine: examineWebSocket, needs: nothing},
		{name: "grpc", examine: examineGRPC, needs: nothing},
		{name: "retries", examine: examineRetries, needs: controls},
		{name: "spread", examine: examineSpread, needs: descriptions, last: true},
		{name: "latency", examine: examineLatency, needs: nothing, last: true},
		{name: "timeouts", examine: examineTimeouts, needs: controls, optIn: true},
		{name: "ejection", examine: examineEjection, needs: controls, optIn: true, last: true},
	}
}

// GroupNames returns the names of all groups, and which of them are examined only if they are named.
func GroupNames() (all, optIn []string) {
	for _, m := range members() {
		all = append(all, m.name)
		if m.optIn {
			optIn = append(optIn, m.name)
		}
	}
	return all, optIn
}

func descriptions(k *known) string {
	if !k.describe {
		return "the responses of the Echo do not describe requests, because it has a body of its own (spec.response.body)"
	}
	return ""
}

func controls(k *known) string {
	if !k.controls {
		return "requests cannot control the responses of the Echo (spec.server.controls: Off)"
	}
	return ""
}

// Run examines a way. The error is that of options that are not valid; everything else is in the report.
func Run(ctx context.Context, o *Options) (*Report, error) {
	t, err := parseTarget(o.URL, o.Address)
	if err != nil {
		return nil, err
	}
	chosen, err := o.members()
	if err != nil {
		return nil, err
	}
	if len(o.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(o.CA) {
		return nil, errors.New("the file of certificates has no certificate in PEM")
	}
	if o.Direct != "" {
		if _, err := parseTarget(o.Direct, ""); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	c := &client{target: t, limits: newLimits(), echo: o.Echo, agent: "echo-pathcheck/" + o.Version}
	if o.Source.IsValid() {
		c.source = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.Source, 0))
	}
	report := newReport(o, &c.target)
	if k, err := meet(ctx, c); err != nil {
		report.Problem = printable(err.Error())
	} else {
		report.From.Address = k.plain.local.Addr().String()
		runGroups(ctx, chosen, report, func() *group { return &group{client: c, known: k, direct: o.Direct, ca: o.CA} })
	}
	report.Requests, report.Bytes = c.limits.sent(), c.limits.used()
	report.finish(o.Expect)
	return report, nil
}

// members returns the groups that the options choose.
func (o *Options) members() ([]member, error) {
	all, _ := GroupNames()
	for _, name := range o.Groups {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("unknown group %q: the groups are %s", name, strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(members(), func(m member) bool {
		if len(o.Groups) == 0 {
			return m.optIn
		}
		return !slices.Contains(o.Groups, m.name)
	}), nil
}

// meet sends the first request, and nothing more unless its response proves that it comes from the Echo.
func meet(ctx context.Context, c *client) (*known, error) {
	a, err := c.do(ctx, &request{path: plainPath})
	switch {
	case err != nil:
		return nil, fmt.Errorf("no response from %s: %s", c.dial, networkReason(err))
	case !a.proven:
		return nil, stranger(c, a)
	}
	c.dial = a.remote // whatever else DNS says of the name was not proven to be the Echo
	k := &known{plain: a, describe: a.echo != nil}
	if k.describe {
		k.base = strings.TrimSuffix(a.echo.Path, plainPath)
	}
	const controls = plainPath + "?echo.size=1"
	controlled, err := c.do(ctx, &request{path: controls})
	if err != nil || !controlled.proven {
		controlled, err = c.do(ctx, &request{path: controls}) // it may have failed by chance
	}
	if err != nil || !controlled.proven {
		return k, nil //nolint:nilerr // the way refuses such queries, and the groups say so
	}
	k.controls = controlled.header.Get("X-Echo-Applied") != "" && controlled.size == 1
	if k.controls {
		const name = "Pathcheck-Full" // which spec.server.controls: Full alone lets a request set
		full, err := c.do(ctx, &request{path: plainPath + "?echo.set-header=" + name + ":1"})
		k.full = err == nil && full.proven && full.header.Get(name) != ""
	}
	return k, nil
}

// networkReason returns why there is no response, without what differs from one attempt to the next, as ports do.
func networkReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns) && dns.IsTimeout:
		return "DNS does not respond"
	case errors.As(err, &dns):
		return "lookup " + dns.Name + ": " + dns.Err
	case errors.As(err, &op) && errors.Is(err, errHandshake):
		return errHandshake.Error() + ": " + op.Err.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// stranger returns the error for a response that does not come from the Echo.
func stranger(c *client, a *answer) error {
	what := "an Echo"
	if c.echo != (proof.Echo{}) {
		what = fmt.Sprintf("the Echo %s/%s", c.echo.Namespace, c.echo.Name)
	}
	text := fmt.Sprintf("the response %d does not prove that it comes from %s, so nothing more was sent", a.status, what)
	if location := a.header.Get("Location"); location != "" {
		return fmt.Errorf("%s; it redirects to %s: check that URL", text, cut(printable(location), maxText))
	}
	return fmt.Errorf("%s: the URL leads elsewhere, the image is not that of the operator or an older one, or the way drops the headers %s or %s",
		text, proof.RequestHeader, proof.ResponseHeader)
}

// runGroups examines the groups: most at once, those that measure alone.
func runGroups(ctx context.Context, chosen []member, report *Report, newGroup func() *group) {
	results := make([]*group, len(chosen))
	reasons, unfinished := make([]string, len(chosen)), make([]bool, len(chosen))
	examine := func(i int) {
		g := newGroup()
		results[i] = g
		if reasons[i] = chosen[i].needs(g.known); reasons[i] != "" {
			return
		}
		if err := chosen[i].examine(ctx, g); err != nil {
			reasons[i], unfinished[i] = printable(cmp.Or(deadlineIn(ctx), err).Error()), !errors.As(err, new(notApplicable))
		}
	}
	var all sync.WaitGroup
	for i := range chosen {
		if !chosen[i].last {
			all.Go(func() { examine(i) })
		}
	}
	all.Wait()
	for i := range chosen {
		if chosen[i].last {
			examine(i)
		}
		report.Facts = append(report.Facts, results[i].facts...)
		report.NotTested = append(report.NotTested, results[i].skipped...)
		if reasons[i] != "" {
			report.NotTested = append(report.NotTested, NotTested{chosen[i].name, reasons[i], unfinished[i]})
		}
	}
}

// deadlineIn returns the error of a run that takes too long or is interrupted, instead of those that follow from it.
func deadlineIn(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return errInterrupted
	}
	return errDeadline
}
