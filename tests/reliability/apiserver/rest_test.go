package apiserver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// echoName is the name of every Echo. Each namespace contains only one Echo.
const echoName = "walker"

// unrest is an error that reports why a namespace is not at rest.
type unrest struct{ why string }

func (u unrest) Error() string { return u.why }

// settle waits until the operator and the other controllers have nothing left to do in a namespace, and returns the namespace's state.
func (s *server) settle(ctx context.Context, namespace string, running func() (*process, error)) (*state, error) {
	var now *state
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		p, err := running()
		if err != nil {
			return false, err
		}
		before := p.wire.requests(namespace)
		now, last = s.rest(ctx, p, namespace)
		if last == nil && p.wire.requests(namespace) != before {
			last = unrest{"the operator sends requests"}
		}
		if last != nil && !errors.As(last, &unrest{}) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil && last != nil {
		err = last
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
			return now, violation{"the condition Stalled", problem}
		}
	}
	return now, p.expectNoWork(ctx, s.client, now, namespace)
}

// isCurrent returns an unrest error if the operator's cache does not match the stored state.
func (p *process) isCurrent(ctx context.Context, now *state, namespace string) error {
	versions := map[string]string{}
	for _, o := range now.all() {
		if o.GetKind() == "Echo" || objects.IsManaged(o) {
			versions[o.GetKind()+" "+o.GetName()] = o.GetResourceVersion()
		}
	}
	if err := p.knowsPods(ctx, now, namespace); err != nil {
		return err
	}
	for _, kind := range append(objects.Kinds(nil), &v1.Echo{}) {
		gvk, err := apiutil.GVKForObject(kind, p.GetScheme())
		if err != nil {
			return err
		}
		cached := kind.DeepCopyObject().(client.Object)
		key := gvk.Kind + " " + echoName
		err = p.GetClient().Get(ctx, client.ObjectKey{Namespace: namespace, Name: echoName}, cached)
		if client.IgnoreNotFound(err) != nil {
			return unrest{"the operator is starting: " + err.Error()}
		}
		if cached.GetResourceVersion() != versions[key] {
			return unrest{fmt.Sprintf("the operator's cache contains version %q of the %s, not %q", cached.GetResourceVersion(), key,
				versions[key])}
		}
	}
	return nil
}

// knowsPods returns an unrest error if the operator's cache does not contain the stored pods.
func (p *process) knowsPods(ctx context.Context, now *state, namespace string) error {
	cached, known := &corev1.PodList{}, map[string]bool{}
	if err := p.GetClient().List(ctx, cached, client.InNamespace(namespace)); err != nil {
		return unrest{"the operator is starting: " + err.Error()}
	}
	for _, pod := range cached.Items {
		known[pod.ResourceVersion] = true
	}
	for _, pod := range now.pods {
		if !known[pod.GetResourceVersion()] {
			return unrest{"the operator's cache does not contain pod " + pod.GetName()}
		}
	}
	if len(cached.Items) != len(now.pods) {
		return unrest{"the operator's cache contains pods that are gone"}
	}
	return nil
}

// expectNoWork reconciles the Echo without writing. If the reconciler attempts a write, expectNoWork returns an unrest error, unless the
// Echo's status reports that the API server rejects the write.
func (p *process) expectNoWork(ctx context.Context, live client.Reader, now *state, namespace string) error {
	dry := &refusing{Client: p.GetClient()}
	r := &controllers.EchoReconciler{Dependencies: p.Echoes.Dependencies, Gateways: p.Echoes.Gateways,
		Labeled: p.Echoes.Labeled}
	r.Client, r.Live, r.Recorder = dry, live, &events.FakeRecorder{}
	_, err := r.Reconcile(ctx, ctrl.Request{Namespace: namespace, Name: echoName})
	switch {
	case len(dry.writes) == 0 && (err == nil || now.echo != nil && isRefused(now.echo)):
		return nil
	case len(dry.writes) == 0:
		return unrest{"a reconcile fails: " + err.Error()}
	case now.echo != nil && isRefused(now.echo) && dry.writes[0].child &&
		condition(now.echo, v1.ConditionDegraded)["reason"] == v1.ReasonInvalidSpec.String(): // if a name is taken, the operator writes nothing
		return nil
	default:
		return unrest{"a reconcile would " + dry.writes[0].what}
	}
}

// isRefused reports whether, according to the status, the Echo's latest generation cannot be applied.
func isRefused(echo *object) bool {
	degraded := condition(echo, v1.ConditionDegraded)
	return degraded != nil && degraded["status"] == "True" && degraded["observedGeneration"] == echo.GetGeneration() &&
		(degraded["reason"] == v1.ReasonInvalidSpec.String() || degraded["reason"] == v1.ReasonNameConflict.String())
}

// refusing is a client that records and rejects writes.
type refusing struct {
	client.Client
	writes []write
}

type write struct {
	what  string
	child bool
}

func (r *refusing) refuse(what string, child bool) error {
	r.writes = append(r.writes, write{what, child})
	return apierrors.NewInternalError(errors.New("this client does not write"))
}

func (r *refusing) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	_, isEcho := o.(*v1.Echo)
	return r.refuse(fmt.Sprintf("patch %T", o), !isEcho)
}

func (r *refusing) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return r.refuse("apply "+o.(interface{ GetKind() string }).GetKind(), true)
}

func (r *refusing) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	return r.refuse(fmt.Sprintf("delete %T", o), true)
}

func (r *refusing) Status() client.SubResourceWriter { return refusingStatus{r} }

type refusingStatus struct{ *refusing }

func (r refusingStatus) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return r.refuse("create a subresource", false)
}

func (r refusingStatus) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return r.refuse("update the status", false)
}

func (r refusingStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return r.refuse("patch the status", false)
}

func (r refusingStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return r.refuse("apply the status", false)
}
