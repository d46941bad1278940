package pathcheck

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/server"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// TestTruth examines paths about which everything is known, and fails if a report contains a value that is false. Each path is a proxy
// that does one thing, on an in-memory network with virtual time. It is examined without and with noise, such as requests that fail at
// random. By default, only a few paths have noise; with TRUTH_TABLE=all, all have each kind. TRUTH_SEED is the seed, 1 by default.
//
// The noise is not reproduced exactly, because its random numbers go to concurrent requests in the order in which they arrive.
func TestTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes with the race detector")
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("TRUTH_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	all := os.Getenv("TRUTH_TABLE") == "all"
	for i, c := range truthCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range noises() {
				if n.appliesTo(&c) && (all || n.name == quietly || n.isUsual && i%10 == 1) {
					t.Run(n.name, func(t *testing.T) { judge(t, &c, n, seed) })
				}
			}
		})
	}
}

// TestRun_time examines a transparent path with long round trips. A person waits for the report.
func TestRun_time(t *testing.T) {
	for roundTrip, limit := range map[time.Duration]time.Duration{0: 10 * time.Second, 30 * time.Millisecond: 12 * time.Second,
		200 * time.Millisecond: 20 * time.Second, 400 * time.Millisecond: 40 * time.Second} {
		t.Run(roundTrip.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report := run(t, &truthCase{options: func(o *Options) { o.Groups = nil }}, noise{roundTrip: roundTrip}, 1)
				t.Logf("%s, %d requests, %d bytes, %d facts", report.Took, report.Requests, report.Bytes, len(report.Facts))
				if took, err := time.ParseDuration(report.Took); err != nil || took > limit || len(report.Facts) < 70 {
					t.Errorf("the run takes %s, more than %s, or has few facts: %v", report.Took, limit, report.NotTested)
				}
			})
		})
	}
}

// truths maps facts to the values that are true, which are separated by |. A value can contain asterisks, which stand for any text, be a
// range such as 1Ki..4Ki, or end with a set such as {404,503}, which stands for a list of some of its elements. Case is ignored.
type truths map[string]string

// truthCase is a path, and what is true about it apart from what is true about its base: the transparent proxy, or the direct connection.
type truthCase struct {
	name  string
	truth truths
	shown string // facts that must have a value, in addition to one in truth
	also  string // values that are true for each fact, because requests are refused or changed in ways that facts report

	url    string              // the URL, if it is not the usual one
	direct bool                // there is no proxy
	nat    bool                // there is only NAT
	tls    bool                // the proxy terminates TLS
	hosts  map[string][]string // the addresses of names
	pods   int                 // 1 if it is 0
	vague  bool                // what the proxy does hides itself
	echo   []string            // environment variables of the echo servers

	request   func(*httputil.ProxyRequest)                    // changes requests
	response  func(*http.Response) error                      // changes responses
	around    func(*bench, http.Handler) http.Handler         // wraps the proxy
	transport func(*bench, *http.Transport) http.RoundTripper // replaces the proxy's client
	serve     func(*http.Server)                              // changes the proxy's server
	pick      func(*bench, *http.Request) int                 // chooses the pod
	options   func(*Options)                                  // changes the options
}

// known returns everything that is true about the case.
func (c *truthCase) known() truths {
	if c.direct || c.nat {
		return merge(directTruth(), c.truth)
	}
	return merge(transparentTruth(), c.truth)
}

// judge runs pathcheck, and reports each false value as an error.
func judge(t *testing.T, c *truthCase, n noise, seed uint64) {
	var report *Report
	synctest.Test(t, func(t *testing.T) { report = run(t, c, n, seed) })
	if report.Problem != "" && n.name == quietly {
		t.Errorf("nothing was tested: %s", report.Problem)
	}
	known, reports := c.known(), []string{"client.proto", "client.host", "client.port", "websocket.proto"}
	facts := slices.Clone(report.Facts)
	if report.Problem == "" { // otherwise, no address was tested
		facts = append(facts, Fact{Name: "report.address", Value: report.Address})
	}
	for _, each := range facts {
		name, value := canonical(each.Name), each.Value
		want, ok := known[name]
		if member, _, _ := strings.Cut(name, "["); !ok && member != name {
			want, ok = known[member+"[*]"]
		}
		if name == "rate.limit" && strings.HasPrefix(n.name, "20 a second") {
			want = "not found|refused " + n.name[len(n.name)-len("429"):]
		}
		switch {
		case value == "not reported" && !slices.Contains(reports, name): // claims nothing
		case !ok && name != "report.address":
			t.Errorf("%s is %s, but the table has no truth about it", name, value)
		case ok && !isTrue(want+"|"+c.also, value):
			t.Errorf("FALSE: %s is %q, true is %q (sent %q, received %q)", name, value, want, each.Sent, each.Received)
		}
	}
	if t.Failed() {
		t.Logf("run it alone: TRUTH_TABLE=all TRUTH_SEED=%d go test ./pathcheck -run '%s'", seed, pattern(t.Name()))
	}
	isShown := func(name string) bool {
		return slices.ContainsFunc(facts, func(f Fact) bool { return canonical(f.Name) == name })
	}
	shows := len(c.truth) == 0 || c.vague || slices.ContainsFunc(slices.Collect(maps.Keys(c.truth)), isShown)
	for name := range strings.FieldsSeq(c.shown) {
		shows = shows && isShown(name)
	}
	if n.name == quietly && !shows {
		t.Errorf("UNKNOWN: the report has no value for what the proxy does: %v, %s", c.truth, c.shown)
	}
	for _, each := range report.NotTested {
		t.Logf("not tested: %s: %s", each.Name, each.Reason)
	}
}

// pattern returns the value of -run that selects a test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, each := range parts {
		parts[i] = "^" + regexp.QuoteMeta(each) + "$"
	}
	return strings.Join(parts, "/")
}

// canonical returns the name of a fact with the header that it is about, if any, in canonical form.
func canonical(fact string) string {
	name, member, isMember := strings.Cut(strings.TrimSuffix(fact, "]"), "[")
	if !isMember {
		return name
	}
	return name + "[" + http.CanonicalHeaderKey(member) + "]"
}

// isTrue reports whether a value is in the table.
func isTrue(table, value string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(table), "|"), func(each string) bool {
		prefix, set, isSet := strings.Cut(strings.TrimSuffix(each, "}"), "{")
		least, most, isRange := strings.Cut(each, "..")
		got := strings.ToLower(value)
		switch {
		case isSet:
			list, ok := strings.CutPrefix(got, prefix)
			isOutside := func(part string) bool { return !slices.Contains(strings.Split(set, ","), part) }
			return ok && !slices.ContainsFunc(strings.Split(list, ","), isOutside)
		case isRange:
			return Expectation{Operator: verdict.AtLeast, Values: []string{unit(least)}}.Met(value) &&
				Expectation{Operator: verdict.AtMost, Values: []string{unit(most)}}.Met(value)
		}
		matched, _ := path.Match(strings.ReplaceAll(each, "/", "_"), strings.ReplaceAll(got, "/", "_")) // the patterns are valid
		return each != "" && matched
	})
}

// unit returns a bound with the case of its unit restored.
func unit(bound string) string {
	return strings.NewReplacer("ki", "Ki", "mi", "Mi", "gi", "Gi").Replace(bound)
}

// bench is a network with the pods of an Echo and a proxy.
type bench struct {
	*network
	pods []string // addresses

	mutex  sync.Mutex
	random *rand.Rand
	counts [2]int
}

// chance returns true for the given percentage of calls.
func (b *bench) chance(percent int) bool { return b.intn(100) < percent }

func (b *bench) intn(n int) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.random.IntN(n)
}

// These are counters, of the proxy and of the noise in front of it.
const ofProxy, ofNoise = 0, 1

// next returns 0, 1, 2, and so on for each counter.
func (b *bench) next(counter int) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.counts[counter]++
	return b.counts[counter] - 1
}

// run examines a case in a bubble.
func run(t *testing.T, c *truthCase, n noise, seed uint64) *Report {
	own := fnv.New64a() // so that not all runs lose their first request
	_, _ = io.WriteString(own, t.Name())
	b := &bench{network: newNetwork(), random: rand.New(rand.NewPCG(seed, own.Sum64()))}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range max(c.pods, 1) {
		b.startPod(ctx, t, &all, i+1, c.echo)
	}
	o := &Options{URL: cmp.Or(c.url, "http://shop.example.com/"), Version: "0", Deadline: 10 * time.Minute,
		dial: b.dial(clientIP, n.line())}
	o.Groups, _ = GroupNames()
	if c.options != nil {
		c.options(o)
	}
	maps.Copy(b.hosts, c.hosts)
	o.lookup = func(_ context.Context, _, host string) (found []netip.Addr, err error) {
		for _, each := range b.hosts[host] {
			found = append(found, netip.MustParseAddr(each))
		}
		return found, nil
	}
	stop := func() {}
	switch {
	case c.direct, c.nat:
		b.nat, o.URL, b.hosts["shop.example.com"] = c.nat, "http://shop.example.com:8080/", []string{"10.0.0.1"}
	default:
		stop = b.startProxy(t, &all, c, n)
	}
	report, err := Run(ctx, o)
	if err != nil {
		t.Error(err)
		report = &Report{}
	}
	cancel()
	stop()
	b.close()
	all.Wait()
	<-time.After(time.Minute) // in which slow proxies end
	return report
}

// startPod starts the echo server of a pod.
func (b *bench) startPod(ctx context.Context, t *testing.T, all *sync.WaitGroup, number int, environ []string) {
	ip := fmt.Sprintf("10.0.0.%d", number)
	environ = append([]string{"ECHO_POD_NAMESPACE=shop", "ECHO_SERVICE_NAME=web", fmt.Sprintf("ECHO_POD_NAME=web-%d", number),
		"ECHO_CONTROLS=Full", "ECHO_DRAIN_DELAY=0s"}, environ...)
	s, err := server.ParseSettings("0", nil, environ, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.Listen = func(_ context.Context, _, address string) (net.Listener, error) { return b.listen(ip + address), nil }
	b.pods = append(b.pods, ip+":8080")
	all.Go(func() {
		if err := server.Run(ctx, s, "0", slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait() // until it listens
}

// startProxy starts the proxy of a case, with noise between it and its clients.
func (b *bench) startProxy(t *testing.T, all *sync.WaitGroup, c *truthCase, n noise) (stop func()) {
	transport := &http.Transport{DialContext: b.dial(proxyIP, line{}), DisableKeepAlives: true, DisableCompression: true,
		ExpectContinueTimeout: time.Minute}
	proxy := proxyTo(b.pods[0], func(r *httputil.ProxyRequest) {
		if c.pick != nil {
			r.Out.URL.Host = b.pods[c.pick(b, r.In)]
		}
		if c.request != nil {
			c.request(r)
		}
	})
	proxy.Transport, proxy.ModifyResponse = transport, c.response
	if c.transport != nil {
		proxy.Transport = c.transport(b, transport)
	}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) { http.Error(w, "no response", statusOf(err)) }
	handler := http.Handler(proxy)
	if c.around != nil {
		handler = c.around(b, handler)
	}
	if n.around != nil {
		handler = n.around(b, handler)
	}
	s := &http.Server{Handler: handler, ErrorLog: quiet, Protocols: &http.Protocols{}}
	s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connectionNumber{}, b.intn(1<<20))
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	if c.serve != nil {
		c.serve(s)
	}
	listen := func() error { return s.Serve(b.listen(proxyIP + ":80")) }
	if c.tls {
		folder := t.TempDir()
		writeCertificate(t, folder)
		listen = func() error { return s.ServeTLS(b.listen(proxyIP+":443"), folder+"/tls.crt", folder+"/tls.key") }
	}
	all.Go(func() { _ = listen() }) // until it is closed
	synctest.Wait()
	return func() {
		_ = s.Close()
		transport.CloseIdleConnections()
	}
}

// connectionNumber is the key of a random number of a client's connection.
type connectionNumber struct{}

func numberOf(r *http.Request) int {
	number, _ := r.Context().Value(connectionNumber{}).(int)
	return number
}

func statusOf(err error) int {
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // of the transport itself
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}
