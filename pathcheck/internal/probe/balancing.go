package probe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// connectionRequests is the number of requests on a shared connection.
const connectionRequests = 6

// sameByChance returns the probability with which random load balancing sends all of several requests to one pod.
func sameByChance(pods, requests int) float64 { return math.Pow(1/float64(pods), float64(requests-1)) }

// reachesAnother reports whether one of a few plain requests reaches another pod. Otherwise, proxies may have stopped using the other pods,
// because examinations make pods fail.
func (g *Group) reachesAnother(ctx context.Context, pods map[string]int) (bool, error) {
	for range connectionRequests {
		o, err := g.ask(ctx, g.Do, plainRequest())
		if err != nil {
			return false, err
		}
		if o.Arrived() && pods[podOf(o.Response)] == 0 {
			return true, nil
		}
	}
	return false, nil
}

// maxPodRequests is the maximum number of requests that count the pods.
const maxPodRequests = 90

// missedByChance returns the probability with which random load balancing has sent no request to one more pod.
func missedByChance(pods, requests int) float64 {
	return math.Pow(1-1/float64(pods+1), float64(requests))
}

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
	sent := fmt.Sprintf("%d requests, each on a separate connection", samples)
	peers := map[string]int{}
	for _, each := range g.Known.Samples {
		if each.Description != nil && each.Description.Client.RemoteAddress != "" {
			peers[each.Description.Client.RemoteAddress]++
		}
	}
	if total(peers) < len(g.Known.Samples) {
		g.Skip("loadBalancing.upstream", "the Echo does not report its connections")
	} else {
		value := choose(len(peers) < len(g.Known.Samples), "reused", "new each time")
		g.Add(Detail(NewFact("loadBalancing.upstream", value, sent, fmt.Sprintf("%d connections", len(peers)))))
	}
	shared, err := g.perform(ctx, g.shareConnection())
	if err := g.conclude(g.shareConnection(), shared, err); err != nil {
		return err
	}
	if reason := g.Known.sampleTooSmall(); reason != "" {
		g.Unknown("loadBalancing.pods", reason)
		g.Unknown("loadBalancing.affinity", reason)
		return nil
	}
	pods := podsOf(g.Known.Samples...)
	for total(pods) < maxPodRequests && missedByChance(len(pods), total(pods)) >= chance {
		o, err := g.ask(ctx, g.Do, plainRequest())
		if err != nil {
			return err
		}
		if o.Arrived() {
			pods[podOf(o.Response)]++
		} else if err := g.Engine.control(o); err != nil {
			return err
		}
	}
	if missedByChance(len(pods), total(pods)) < chance {
		g.Add(Detail(NewFact("loadBalancing.pods", strconv.Itoa(len(pods)), fmt.Sprintf("%d requests", total(pods)), describeCounts(pods))))
	} else {
		g.Unknown("loadBalancing.pods", fmt.Sprintf("%d requests reached %d pods, but there may be more", total(pods), len(pods)))
	}
	affinity, err := g.affinity(ctx, pods, shared.outcome)
	return g.conclude(experiment{fact: "loadBalancing.affinity", detail: true}, affinity, err)
}

// affinity determines what keeps a client at one pod. shared is the outcome of requests on one connection.
func (g *Group) affinity(ctx context.Context, pods map[string]int, shared Outcome) (result, error) {
	together := shared.pods()
	received := describeCounts(pods) + "; on one connection " + describeCounts(together)
	if len(pods) == 1 {
		return result{value: "one pod", received: received + ": there is only one pod, or the client's address determines the pod"}, nil
	}
	if cookie := g.cookie(""); cookie != nil {
		kept, err := g.sendCookie(ctx, cookie, len(pods))
		received = "with the cookie " + describeCounts(kept) + "; " + received
		switch {
		case err != nil:
			return result{}, err
		case len(kept) == 1 && sameByChance(len(pods), total(kept)) < chance:
			if another, err := g.reachesAnother(ctx, kept); another || err != nil {
				return result{value: "cookie", received: received}, err
			}
			return result{received: "only one pod still responds"}, nil
		case len(kept) < 2: // too few requests arrived
			return result{received: "errors"}, nil
		}
	}
	same := 1.0
	for range maxPairs {
		if len(together) > 1 || total(together)%connectionRequests > 0 { // or the connection was closed earlier
			return result{value: None, received: received}, nil
		}
		if len(together) == 1 {
			if another, err := g.reachesAnother(ctx, together); err != nil {
				return result{}, err
			} else if another {
				same *= sameByChance(len(pods), connectionRequests)
			}
		}
		if same < chance {
			return result{value: "connection", received: received}, nil
		}
		x := g.shareConnection()
		o, err := g.ask(ctx, x.send, &x.probe)
		if err != nil {
			return result{}, err
		}
		together = o.pods()
	}
	return result{received: "errors"}, nil
}

// pods counts the responses of each pod on a connection.
func (o Outcome) pods() map[string]int {
	if !o.Arrived() {
		return nil
	}
	return podsOf(append(o.Earlier, o.Response)...)
}

// cookie returns the field that sends back a cookie that the path, but not the Echo, sets in a response from a server, together with the
// user's cookies. An empty name means any server. Without such a cookie, the result is nil.
func (g *Group) cookie(server string) []wire.Field {
	for _, each := range g.Known.Samples {
		set := each.Header.Values("Set-Cookie")
		if _, own := each.Claims.Fields["Set-Cookie"]; own || len(set) == 0 || server != "" && each.Claims.Server != server {
			continue
		}
		value, _, _ := strings.Cut(set[0], ";")
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

// sendCookie sends requests with a cookie on separate connections, and counts the pods that respond.
func (g *Group) sendCookie(ctx context.Context, cookie []wire.Field, known int) (map[string]int, error) {
	pods := map[string]int{}
	for requests := 0; requests < maxCookieRequests && len(pods) < 2 && sameByChance(known, total(pods)) >= chance; requests++ {
		o, err := g.ask(ctx, g.Do, &wire.Request{Path: PlainPath, Fields: cookie})
		if err != nil {
			return nil, err
		}
		if o.Arrived() {
			pods[podOf(o.Response)]++
		}
	}
	return pods, nil
}

// shareConnection returns the experiment that sends requests on one connection while it remains open.
func (g *Group) shareConnection() experiment {
	keepAlive := wire.Fields("Connection", "keep-alive")
	return experiment{fact: "loadBalancing.keepAlive", requests: connectionRequests,
		sent:  fmt.Sprintf("%d requests on one connection", connectionRequests),
		probe: wire.Request{Path: PlainPath, Fields: keepAlive},
		send: g.onStream(func(ctx context.Context, s *wire.Stream) (*wire.Response, error) {
			var earlier []*wire.Response
			for {
				a, err := g.Read(s, wire.MaxBody)
				if err != nil || !a.Proven { // an error may have closed the connection
					return a, err
				}
				if a.Earlier = earlier; a.Closed || len(earlier) == connectionRequests-1 {
					return a, nil
				}
				earlier = append(earlier, a)
				if err := cmp.Or(g.Engine.await(ctx), g.SendNext(s, &wire.Request{Path: PlainPath, Fields: keepAlive})); err != nil {
					return nil, err
				}
			}
		}),
		read: func(o Outcome) (string, string) {
			return choose(o.Closed, No, Yes), fmt.Sprintf("%d responses", len(o.Earlier)+1)
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
	for _, each := range g.Known.Samples {
		took = append(took, each.Took)
	}
	slices.Sort(took)
	for name, each := range map[string]time.Duration{"latency.p50": took[(len(took)-1)/2], "latency.p99": took[len(took)-1]} {
		g.Add(Detail(NewFact(name, fmt.Sprintf("%.2fms", each.Seconds()*1000), fmt.Sprintf("%d requests", len(took)), "")))
	}
	return nil
}
