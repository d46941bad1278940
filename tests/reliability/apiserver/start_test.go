package apiserver

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// patience limits how long the tests wait, and allows for a busy machine. The operator checks a name that is taken only once a minute.
	patience = status.LookPeriod + 20*time.Second
	// interval is the time between two checks of a condition.
	interval = 10 * time.Millisecond
)

type server struct {
	config *rest.Config
	client client.Client // has an administrator's permissions, and no cache
	// pods is true if Deployments on the server have pods.
	pods bool
	// met contains the UIDs of children that existed at the same time as their Echo.
	met sync.Map
}

// startServer starts an API server for a test. Without RELIABILITY=all, it skips the test.
func startServer(t *testing.T) *server {
	t.Helper()
	g := NewWithT(t)
	if os.Getenv("RELIABILITY") != "all" {
		t.Skip("the test takes minutes: set RELIABILITY=all to run it")
	}
	ctrl.SetLogger(logr.Discard())
	config := filepath.Join("..", "..", "..", "config")
	env, err := controlplane.Start(filepath.Join(config, "crd", "bases"))
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	g.Expect(err).NotTo(HaveOccurred())
	scheme, err := support.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controlplane.GrantOperatorsRole(t.Context(), admin, config)).To(Succeed())
	return &server{config: env.Config, client: admin}
}

// newNamespace creates a namespace. The test does not delete the namespace, because no controller could complete the deletion.
func (s *server) newNamespace(ctx context.Context, name string) (string, error) {
	namespace := &corev1.Namespace{GenerateName: name + "-"}
	err := s.client.Create(ctx, namespace)
	return namespace.Name, err
}

// freeAddresses deletes the Services in a namespace that is no longer used, because the address range has room for only about 250 Services.
func (s *server) freeAddresses(namespace string) error {
	return s.client.DeleteAllOf(context.Background(), &corev1.Service{}, client.InNamespace(namespace))
}

// process is a running operator.
type process struct {
	*operator.Operator
	wire    *wire
	stop    func()
	stopped chan error
}

// startOperator starts the operator for the given namespaces. The operator's requests pass through the wire.
func (s *server) startOperator(w *wire, namespaces ...string) (*process, error) {
	config := rest.CopyConfig(s.config)
	config.Wrap(w.around)
	assembled, err := controlplane.NewOperator(config, "privileged", namespaces...)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &process{Operator: assembled, wire: w, stop: stop, stopped: make(chan error, 1)}
	go func() { p.stopped <- assembled.Start(ctx) }()
	return p, nil
}

// end stops the operator without further requests, as a crash would.
func (p *process) end() {
	p.wire.cut()
	p.stop()
	<-p.stopped //nolint:errcheck // the process was cut off, so it may fail
}
