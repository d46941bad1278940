package reliability

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/operator"
)

// process is one process of the operator.
type process struct {
	// crashed is true if the process's requests no longer have an effect.
	crashed atomic.Bool
	// stopping is true if the process was asked to exit.
	stopping atomic.Bool
	stop     context.CancelFunc
	stopped  chan error
	// gone is closed when the process has exited. The process's remaining goroutines can only read objects.
	gone chan struct{}

	lock     sync.Mutex
	open     []*stream
	memories []func()
}

func (s *simulation) start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s.process = &process{stop: stop, stopped: make(chan error, 1), gone: make(chan struct{})}
	cluster := &rest.Config{Host: "https://simulated", Transport: connection{s, s.process}, QPS: -1}
	cluster.ContentType = "application/json"
	underTest, err := operator.New(ctx, cluster, operator.Options{
		Version:        "test",
		MetricsAddress: "0",
		Metrics:        prometheus.NewRegistry(),
		ProbeAddress:   "0",
		Images: objects.Images{EchoServer: "quay.io/echo-operator/echo-server:v1",
			PathCheck: "quay.io/echo-operator/echo-operator-pathcheck:v1"},
		Policy:     objects.Policy{MaxReplicas: 20},
		Namespaces: s.namespaces,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.process.lock.Lock()
	s.process.memories = underTest.Memories
	s.process.lock.Unlock()
	s.hear()
	go func(stopped chan<- error) { stopped <- underTest.Start(ctx) }(s.process.stopped)
}

func (s *simulation) end(t *testing.T) {
	t.Helper()
	s.process.stop()
	if err := <-s.process.stopped; err != nil && !s.process.crashed.Load() {
		t.Error(err)
	}
	s.process.crashed.Store(true)
	close(s.process.gone)
}

// wait waits until the client gives up on a request, the process exits, or the limit is reached.
func (p *process) wait(request *http.Request, limit time.Duration) error {
	select {
	case <-request.Context().Done():
		return request.Context().Err()
	case <-time.After(limit):
		return syscall.ECONNRESET
	case <-p.gone:
		return syscall.ECONNRESET
	}
}

func (p *process) add(one *stream) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.open = append(p.open, one)
}

// streams returns the open streams.
func (p *process) streams() []*stream {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.open = slices.DeleteFunc(p.open, (*stream).over)
	return slices.Clone(p.open)
}

// recordEvent records an event that the operator sends.
func (c connection) recordEvent(to call) (*http.Response, error) {
	if c.process.crashed.Load() {
		return respond(to.Request, nil, apierrors.NewForbidden(kinds["events"].groupResource("events"), to.name, nil))
	}
	event := eventsv1.Event{}
	if err := json.Unmarshal(to.body, &event); err != nil {
		return nil, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if to.Method == http.MethodPost {
		c.notes[event.Name] = event.Type + " " + event.Reason + ": " + event.Note
		to.name = event.Name
	}
	c.sent = append(c.sent, c.notes[to.name]) // the operator repeats an event by patching the event object
	event.Name = to.name
	return respond(to.Request, event, nil)
}

// TestRequestsOfAnEcho limits how many requests an Echo causes. Watches and events do not count. Because the operator receives each change
// separately, there are more reconciles than on a real cluster. The order of some events is random, so a run may need slightly fewer
// requests than the limit.
func TestRequestsOfAnEcho(t *testing.T) {
	for _, c := range []struct {
		scenario
		most int
	}{
		{scenario{name: "create", steps: []step{create}}, 19},
		{scenario{name: "scale", steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Replicas = new(int32(3)) })}}, 19 + 4},
		{scenario{name: "delete", gone: true, steps: []step{create, remove}}, 19 + 11},
	} {
		run(t, plan{}, c.scenario, func(t *testing.T, s *simulation) {
			sent := 0
			for _, request := range s.outcome().order {
				if !strings.HasPrefix(request.name, "watch ") {
					sent++
				}
			}
			t.Logf("%s: %d requests", c.name, sent)
			if sent > c.most {
				t.Errorf("%s: %d requests, which is more than %d: %v", c.name, sent, c.most, s.outcome().order)
			}
		})
	}
}
