package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	// echoName is the name of every Echo. Each namespace contains only one Echo.
	echoName = "walker"
	// patience limits how long the tests wait, and allows for a busy machine. The operator checks a name that is taken only once a minute.
	patience = status.LookPeriod + 20*time.Second
	// interval is the time between two checks of a condition.
	interval = 10 * time.Millisecond
)

// unrest is an error that reports why a namespace is not at rest.
type unrest struct{ why string }

func (u unrest) Error() string { return u.why }

// settle waits until the operator and the other controllers have nothing left to do in a namespace, and returns the namespace's state.
func (s *server) settle(ctx context.Context, p *process, namespace string) (*state, error) {
	var now *state
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		before := p.sent.Load()
		now, last = s.rest(ctx, p, namespace)
		if last == nil && p.sent.Load() != before {
			last = unrest{"the operator sends requests"}
		}
		if last != nil && !errors.As(last, &unrest{}) {
			return false, last
		}
		return last == nil, nil
	})
	if errors.As(last, &unrest{}) {
		err = fmt.Errorf("the operator does not come to rest: %w", last)
	}
	return now, err
}

// rest returns the stored state of a namespace. If there is work left to do, it also returns an unrest error.
func (s *server) rest(ctx context.Context, p *process, namespace string) (*state, error) {
	now, err := s.read(ctx, namespace)
	if err != nil {
		return now, err
	}
	if err := s.otherControllers(ctx, now); err != nil {
		return now, err
	}
	if now.echo != nil && now.echo.GetDeletionTimestamp() != nil {
		return now, unrest{"the Echo is being deleted"}
	}
	if err := p.isCurrent(ctx, now, namespace); err != nil {
		return now, err
	}
	if now.echo != nil {
		if problem := support.StalledProblem(now.echo); problem != "" {
			return now, errors.New("the condition Stalled is wrong: " + problem)
		}
	}
	return now, p.expectNoWork(ctx, s.client, now, namespace)
}

// isCurrent returns an unrest error if the operator's cache does not match the stored state.
func (p *process) isCurrent(ctx context.Context, now *state, namespace string) error {
	stored, cached := map[string]string{}, map[string]string{}
	for _, o := range now.all() {
		if o.GetKind() == "Echo" || objects.IsManaged(o) {
			stored[o.GetKind()+" "+o.GetName()] = o.GetResourceVersion()
		}
	}
	for _, kind := range append(objects.Kinds(nil), &v1.Echo{}) {
		gvk, err := apiutil.GVKForObject(kind, p.GetScheme())
		if err != nil {
			return err
		}
		list, err := p.GetScheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return err
		}
		if err := p.GetClient().List(ctx, list.(client.ObjectList), client.InNamespace(namespace)); err != nil {
			return unrest{"the operator is starting: " + err.Error()}
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			cached[gvk.Kind+" "+o.GetName()] = o.GetResourceVersion()
			return nil
		}); err != nil {
			return err
		}
	}
	if diff := cmp.Diff(stored, cached); diff != "" {
		return unrest{"the operator's cache is outdated (-stored, +cached): " + diff}
	}
	return nil
}

// expectNoWork reconciles the Echo without writing. If the reconciler attempts a write, expectNoWork returns an unrest error, unless the
// Echo's status reports that the API server rejects the write.
func (p *process) expectNoWork(ctx context.Context, live client.Reader, now *state, namespace string) error {
	p.refused = nil
	r := &controllers.EchoReconciler{Dependencies: p.Echoes.Dependencies, Gateways: p.Echoes.Gateways,
		Labeled: p.Echoes.Labeled}
	r.Client, r.Live, r.Recorder = p.dry, live, &events.FakeRecorder{}
	_, err := r.Reconcile(ctx, ctrl.Request{Namespace: namespace, Name: echoName})
	refusal := now.refusal()
	switch {
	case len(p.refused) == 0 && (err == nil || refusal != ""):
		return nil
	case len(p.refused) == 0:
		return unrest{"a reconcile fails: " + err.Error()}
	case refusal == v1.ReasonInvalidSpec.String() && !strings.Contains(p.refused[0], "/echoes/"):
		return nil
	default: // if a name is taken, the operator writes nothing
		return unrest{"a reconcile would send " + p.refused[0]}
	}
}
