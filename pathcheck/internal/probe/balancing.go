package probe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// connectionRequests is the number of requests on a shared connection.
const connectionRequests = 6

// reach sends requests, each on a separate connection, until there are enough. It counts the pods that respond, and returns the refusals.
func (g *Group) reach(ctx context.Context, pods map[string]int, most int, request func() *wire.Request, isEnough func() bool) (map[string]int,
	error) {
	refused := map[string]int{}
	for sent := 0; sent < most && !isEnough(); sent++ {
		switch o, err := g.ask(ctx, g.Do, request()); {
		case err != nil:
			return nil, err
		case o.Arrived():
			pods[podOf(o.Response)]++
		default:
			refused[o.Refusal]++
		}
	}
	return refused, nil
}

// maxPodRequests is the maximum number of requests that count the pods.
const maxPodRequests = 90

// podOf returns the name of the pod that responded or, if the Echo does not report it, the ID of its process.
func podOf(a *wire.Response) string {
	if a.Description != nil && a.Description.Pod != "" {
		return a.Description.Pod
	}
	return a.Claims.Server
}

// podsOf counts the responses of each pod.
func podsOf(responses ...*wire.Response) map[string]int {
	pods := map[string]int{}
	for _, each := range responses {
		pods[podOf(each)]++
	}
	return pods
}

// ExamineLoadBalancing compares the first, plain requests, each on a separate connection, with requests on one connection, and with
// requests that send back the path's cookie.
func ExamineLoadBalancing(ctx context.Context, g *Group) error {
	peers := map[string]int{}
	for _, each := range g.Known.Samples {
		if each.Description != nil && each.Description.Client.RemoteAddress != "" {
			peers[each.Claims.Server+each.Description.Client.RemoteAddress]++ // connections to different pods can have the same port
		}
	}
	if total(peers) < len(g.Known.Samples) {
		g.Skip("loadBalancing.upstream", "the Echo does not report its connections")
	} else {
		g.Add(Detail(NewFact("loadBalancing.upstream", choose(len(peers) < len(g.Known.Samples), "reused", "new each time"),
			fmt.Sprintf("%d requests, each on a separate connection", samples), fmt.Sprintf("%d connections", len(peers)))))
	}
	if err := g.find(ctx, g.shareConnection()); err != nil {
		return err
	}
	pods := podsOf(g.Known.Samples...)
	isExact := func() bool { // random load balancing would have sent a request to one more pod
		return math.Pow(1-1/float64(len(pods)+1), float64(total(pods))) < chance
	}
	if _, err := g.reach(ctx, pods, maxPodRequests, plainRequest, isExact); err != nil {
		return err
	}
	received := describeCounts(pods)
	if !isExact() {
		g.Unknown("loadBalancing.pods", "there may be more pods: "+received)
		g.Unknown("loadBalancing.affinity", "there may be more pods: "+received)
		return nil
	}
	g.Add(Detail(NewFact("loadBalancing.pods", strconv.Itoa(len(pods)), fmt.Sprintf("%d requests", total(pods)), received)))
	affinity, err := g.affinity(ctx, pods)
	return g.conclude(experiment{fact: "loadBalancing.affinity", detail: true}, affinity, err)
}

// affinity determines what keeps a client at one pod.
func (g *Group) affinity(ctx context.Context, pods map[string]int) (result, error) {
	cookie := g.cookie("")
	switch {
	case len(pods) == 1:
		return result{value: "one pod", received: "there is only one pod, or the client's address determines the pod"}, nil
	case cookie == nil:
		return result{value: None, received: "no cookie"}, nil
	}
	kept, others := map[string]int{}, map[string]int{}
	withCookie := func() *wire.Request { return &wire.Request{Path: PlainPath, Fields: cookie} }
	isSame := func() bool { // random load balancing would not have sent all requests to one pod
		return math.Pow(1/float64(len(pods)), float64(total(kept)-1)) < chance
	}
	if _, err := g.reach(ctx, kept, maxCookieRequests, withCookie, func() bool { return len(kept) > 1 || isSame() }); err != nil {
		return result{}, err
	}
	received := "with the cookie " + describeCounts(kept)
	switch {
	case len(kept) > 1:
		return result{value: None, received: received}, nil
	case len(kept) == 0 || !isSame():
		return result{received: "errors"}, nil
	}
	// Proxies may have stopped using the other pods, because examinations make pods fail.
	isAnother := func() bool {
		return len(others) > 1 || len(others) == 1 && others[slices.Sorted(maps.Keys(kept))[0]] == 0
	}
	if _, err := g.reach(ctx, others, samples, plainRequest, isAnother); err != nil {
		return result{}, err
	}
	if !isAnother() {
		return result{received: "only one pod still responds"}, nil
	}
	return result{value: "cookie", received: received}, nil
}

// cookie returns the field that sends back a cookie that the path, but not the Echo, sets in a response from a server, together with the
// user's cookies. An empty name means any server. Without such a cookie, the result is nil.
func (g *Group) cookie(server string) []wire.Field {
	for _, each := range g.Known.Samples {
		set := slices.Clone(each.Header.Values("Set-Cookie"))
		if proof.FieldDigest(set) == each.Claims.Fields["Set-Cookie"] || len(set) == 0 || server != "" && each.Claims.Server != server {
			continue // the Echo's own cookies, if any
		}
		for i := range set {
			set[i], _, _ = strings.Cut(set[i], ";")
		}
		value := strings.Join(set, "; ")
		for _, own := range g.Headers {
			if strings.EqualFold(own.Name, "Cookie") {
				value = own.Value + "; " + value
			}
		}
		return wire.Fields("Cookie", value)
	}
	return nil
}

// maxCookieRequests is the maximum number of requests with a cookie. Errors may cost some of them.
const maxCookieRequests = 30

// shareConnection returns the experiment that sends requests on one connection while it remains open.
func (g *Group) shareConnection() experiment {
	keepAlive := wire.Fields("Connection", "keep-alive")
	return experiment{fact: "loadBalancing.keepAlive", requests: connectionRequests,
		sent:  fmt.Sprintf("%d requests on one connection", connectionRequests),
		probe: wire.Request{Path: PlainPath, Fields: keepAlive},
		send: g.onStream(func(ctx context.Context, s *wire.Stream) (*wire.Response, error) {
			for count := 1; ; count++ {
				a, err := g.Read(s, wire.MaxBody)
				if err != nil || !a.Proven || a.Closed || count == connectionRequests { // an error may have closed the connection
					return a, err
				}
				if err := cmp.Or(g.Engine.await(ctx), g.SendNext(s, &wire.Request{Path: PlainPath, Fields: keepAlive})); err != nil {
					return nil, err
				}
			}
		}),
		read: func(o Outcome) (string, string) {
			return choose(o.Closed, No, Yes), "the connection is " + choose(o.Closed, "closed", "open") + " after the last response"
		},
		refused: func(o Outcome) (string, string) {
			if o.Response == nil {
				return No, "the connection is closed without a response"
			}
			return "refused " + o.Refusal, describeRefusal(o.Refusal)
		}}
}

func describeCounts(counts map[string]int) string {
	var texts []string
	for name, count := range counts {
		texts = append(texts, fmt.Sprintf("%s (%d)", name, count))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// ExamineLatency reports the median and the 99th percentile of how long the first, plain responses took. With so few requests, the 99th
// percentile is the maximum.
func ExamineLatency(_ context.Context, g *Group) error {
	var took []time.Duration
	if len(g.Known.Samples) == 0 {
		g.Unknown("latency", g.Known.sampleTooSmall())
		return nil
	}
	for _, each := range g.Known.Samples {
		took = append(took, each.Took)
	}
	slices.Sort(took)
	for name, each := range map[string]time.Duration{"latency.p50": took[(len(took)-1)/2], "latency.p99": took[len(took)-1]} {
		g.Add(Detail(NewFact(name, fmt.Sprintf("%.2fms", each.Seconds()*1000), fmt.Sprintf("%d requests", len(took)), "")))
	}
	return nil
}
