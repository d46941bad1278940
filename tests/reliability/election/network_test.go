package election

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// silence is how long a client may wait for the response to a lost request, unless the client gives up earlier.
	silence = 15 * time.Second
	// restartDelay is how long a replica is down after its process has ended.
	restartDelay   = time.Second
	leaseNamespace = "operators"
)

// weather determines how likely a request is to be lost, and how long it may be delayed.
type weather struct {
	// leaseLoss is the share of lease requests that are lost, and loss is the share for other requests.
	loss, leaseLoss float64
	// delay is the longest total delay of a request and its response.
	delay time.Duration
}

// network connects two replicas to the API server, and records their requests. The processes of replica 0 have even numbers, and the
// processes of replica 1 have odd numbers.
type network struct {
	began time.Time

	lock     sync.Mutex
	requests []*request
	weather  [2]weather
	// renewed contains when each process received the last response to a renewal of the lease.
	renewed map[int]time.Duration
	// ended contains the processes that have ended, and stop stops the process of each replica.
	ended map[int]bool
	stop  [2]func()
}

// locked passes the time since the start of the test to a function that uses the other fields.
func (n *network) locked(do func(now time.Duration)) {
	n.lock.Lock()
	defer n.lock.Unlock()
	do(time.Since(n.began))
}

// log returns the requests so far, in the order in which they were sent.
func (n *network) log() (requests []request) {
	n.locked(func(time.Duration) {
		for _, r := range n.requests {
			requests = append(requests, *r)
		}
	})
	return requests
}

// run runs a replica's operators, one after another, until ctx is done.
func (n *network) run(ctx context.Context, t *testing.T, cluster *rest.Config, replica int) {
	t.Helper()
	for process := 2 + replica; ctx.Err() == nil; process += 2 {
		running, stop := context.WithCancel(ctx)
		n.locked(func(time.Duration) { n.stop[replica] = stop })
		config := rest.CopyConfig(cluster)
		config.ContentType = "application/json" // so that the network can read leases
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return link{n, process, next} })
		one, err := controlplane.NewOperatorWith(config, func(o *operator.Options) {
			o.LeaderElect, o.LeaderElectionNamespace = true, leaseNamespace
		})
		if err == nil {
			err = one.Start(running)
		}
		n.locked(func(now time.Duration) {
			n.ended[process] = true // the program would exit
			t.Logf("%6.1f s: process %d ended: %v", now.Seconds(), process, err)
		})
		stop()
		select {
		case <-ctx.Done():
		case <-time.After(restartDelay):
		}
	}
}

// link forwards the requests of one process.
type link struct {
	*network
	process int
	next    http.RoundTripper
}

// RoundTrip sends a request, which may arrive even if the process gives up or ends in the meantime.
func (l link) RoundTrip(r *http.Request) (*http.Response, error) {
	entry := &request{process: l.process, verb: r.Method, path: r.URL.Path}
	sent := r.Clone(r.Context())
	if !r.URL.Query().Has("watch") {
		sent = r.Clone(context.WithoutCancel(r.Context()))
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		sent.Body = io.NopCloser(bytes.NewReader(body))
		lease := coordinationv1.Lease{}
		if entry.isLease() && json.Unmarshal(body, &lease) == nil && lease.Spec.HolderIdentity != nil {
			entry.holder = *lease.Spec.HolderIdentity
		}
	}
	var w weather
	ended := false
	l.locked(func(now time.Duration) {
		w, ended = l.weather[l.process%2], l.ended[l.process]
		if !ended {
			l.requests = append(l.requests, entry)
		}
		if entry.since = workTimeout + 1; l.renewed[l.process] > 0 {
			entry.since = now - l.renewed[l.process]
		}
	})
	if ended {
		return nil, errors.New("the process has ended")
	}
	received := make(chan *http.Response, 1)
	go func() { received <- l.exchange(sent, entry, w) }() //nolint:bodyclose // the client closes it
	select {
	case answer := <-received:
		if answer == nil {
			return nil, syscall.ECONNRESET
		}
		l.locked(func(now time.Duration) {
			if entry.isElection() && entry.holder != "" {
				l.renewed[l.process] = now
			}
		})
		return answer, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// exchange sends a request and returns the response. If the request or the response is lost, it returns nil, immediately or after silence.
func (l link) exchange(r *http.Request, entry *request, w weather) *http.Response {
	loss := w.loss
	if entry.isLease() {
		loss = w.leaseLoss
	}
	lost, arrives, hangs := rand.Float64() < loss, rand.IntN(2) == 0, rand.IntN(2) == 0
	delay := rand.Float64() * float64(w.delay)
	before := rand.Float64() * delay
	<-time.After(time.Duration(before))
	var answer *http.Response
	if !lost || arrives {
		l.locked(func(now time.Duration) { entry.arrived = now })
		var err error
		if answer, err = l.next.RoundTrip(r); err != nil {
			return nil
		}
		l.locked(func(time.Duration) { entry.code = answer.StatusCode })
	}
	<-time.After(time.Duration(delay - before))
	if !lost {
		return answer
	}
	if answer != nil {
		_ = answer.Body.Close() // no one reads it
	}
	if hangs {
		<-time.After(silence)
	}
	return nil
}
