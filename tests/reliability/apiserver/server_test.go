package apiserver

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

type server struct {
	config *rest.Config
	client client.Client // has an administrator's permissions, and no cache
}

// startServer starts an API server for a test. Without RELIABILITY=all, it skips the test.
func startServer(t *testing.T) *server {
	t.Helper()
	if os.Getenv("RELIABILITY") != "all" {
		t.Skip("the test takes minutes: set RELIABILITY=all to run it")
	}
	env, admin := controlplane.StartForTest(t, filepath.Join("..", "..", "..", "config"), func(*envtest.APIServer) {})
	return &server{config: env.Config, client: admin}
}

// newNamespace creates a namespace. The test does not delete the namespace, because no controller could complete the deletion.
func (s *server) newNamespace(ctx context.Context, name string) (string, error) {
	namespace := &corev1.Namespace{GenerateName: name + "-"}
	err := s.client.Create(ctx, namespace)
	return namespace.Name, err
}

// process is a running operator.
type process struct {
	*operator.Operator
	stop    func()
	stopped chan error
	dead    atomic.Bool
	// sent counts the requests that reconciles sent.
	sent atomic.Int64
	// dry is the operator's client, except that it rejects writes. refused contains these writes.
	dry     client.Client
	refused []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// startOperator starts the operator for the given namespaces.
func (s *server) startOperator(namespaces ...string) (*process, error) {
	p := &process{stopped: make(chan error, 1)}
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return p.carry(next, r) })
	})
	var err error
	if p.Operator, err = controlplane.NewOperator(config, "privileged", namespaces...); err != nil {
		return nil, err
	}
	dry := rest.CopyConfig(s.config)
	dry.Wrap(func(http.RoundTripper) http.RoundTripper { return roundTripper(p.refuse) })
	p.dry, err = client.New(dry,
		client.Options{Scheme: p.GetScheme(), Mapper: p.GetRESTMapper(), Cache: &client.CacheOptions{Reader: p.GetCache()}})
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	go func() { p.stopped <- p.Start(ctx) }()
	return p, nil
}

// carry sends one of the operator's requests. It counts the request, unless the request fills a cache or sends an event.
func (p *process) carry(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if p.dead.Load() {
		return nil, errors.New("the process was killed")
	}
	query := r.URL.Query()
	fillsCache := r.Method == http.MethodGet && (query.Has("watch") || query.Has("resourceVersion"))
	if !fillsCache && strings.Contains(r.URL.Path, "/namespaces/") && !strings.Contains(r.URL.Path, "/events") {
		p.sent.Add(1)
	}
	return next.RoundTrip(r)
}

func (p *process) refuse(r *http.Request) (*http.Response, error) {
	p.refused = append(p.refused, r.Method+" "+r.URL.Path)
	return nil, errors.New("this client does not write")
}

// end stops the operator without further requests, as a crash would.
func (p *process) end() {
	p.dead.Store(true)
	p.stop()
	<-p.stopped //nolint:errcheck // the process was cut off, so it may fail
}
