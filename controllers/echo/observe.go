package echo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// observe reads the pods and companions of an Echo, and the nodes of its pods, from the cache.
func (r *Reconciler) observe(ctx context.Context, echo *v1.Echo, seen *status.Observation) error {
	var err error
	if seen.Pods, seen.Companions, err = listPods(ctx, r.Client, echo, controllers.CachedPodsOf(echo)); err != nil {
		return err
	}
	seen.Nodes, err = r.nodesOf(ctx, echo, seen.Pods)
	return err
}

// remains is what is left of an Echo that is being deleted.
type remains struct {
	objects          []client.Object
	pods, companions []corev1.Pod
	// orphaned is true if the Deployment was orphaned. Its pods are kept then, and not among pods.
	orphaned bool
}

func (r remains) any() bool { return len(r.objects)+len(r.pods)+len(r.companions) > 0 }

// remaining returns what is left of an Echo. The cache is enough to say that something is left. It may not hold what was created a moment
// ago, so that the API server is asked before nothing is left. Pods that nobody deletes for long are kept.
func (r *Reconciler) remaining(ctx context.Context, echo *v1.Echo) (remains, error) {
	wanted, err := children.Of(echo, r.config())
	if err != nil {
		return remains{}, err
	}
	left, err := r.remainingIn(ctx, place{r.Client, r.readCached, controllers.CachedPodsOf}, echo, wanted)
	if err == nil && !left.any() {
		left, err = r.remainingIn(ctx, place{r.Live, r.read, livePodsOf}, echo, wanted)
	}
	if left.onlyKeptPods() && r.Now().Sub(echo.DeletionTimestamp.Time) > orphanedAfter {
		left.pods, left.orphaned = nil, true
	}
	return left, err
}

// childReader reads a child of an Echo.
type childReader func(context.Context, *v1.Echo, children.Child) (client.Object, error)

// place is where the objects of an Echo are read: the cache or the API server.
type place struct {
	reader client.Reader
	child  childReader
	podsOf func(*v1.Echo) client.ListOption
}

// livePodsOf selects the pods and companions of an Echo in the API server.
func livePodsOf(echo *v1.Echo) client.ListOption {
	return client.MatchingLabels(children.InstanceLabels(echo))
}

// remainingIn returns what is left of an Echo in the cache or in the API server. A child whose name is taken was orphaned, or was never
// the Echo's: whether the Deployment was orphaned is told by the API server alone. Others may have deleted the Deployment in the
// background, which does not wait for its pods.
func (r *Reconciler) remainingIn(ctx context.Context, from place, echo *v1.Echo, wanted []children.Child) (remains, error) {
	left := remains{}
	for _, c := range wanted {
		readThis := from.child
		if c.RunsPods {
			readThis = r.read
		}
		object, err := readThis(ctx, echo, c)
		switch {
		case errors.As(err, new(*children.NameConflictError)):
			left.orphaned = left.orphaned || c.RunsPods
		case err != nil:
			return left, err
		case object != nil:
			left.objects = append(left.objects, object)
		}
	}
	var err error
	if left.pods, left.companions, err = listPods(ctx, from.reader, echo, from.podsOf(echo)); left.orphaned {
		left.pods = nil
	}
	return left, err
}

// onlyKeptPods reports whether only pods are left, and nobody deletes them.
func (r remains) onlyKeptPods() bool {
	deleted := func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() }
	return len(r.objects)+len(r.companions) == 0 && len(r.pods) > 0 && !slices.ContainsFunc(r.pods, deleted)
}

// readAll returns the children as they exist, nil for those that do not. A name that is taken is an error, after all were read.
func (r *Reconciler) readAll(
	ctx context.Context, echo *v1.Echo, wanted []children.Child, read childReader, seen *status.Observation,
) ([]client.Object, error) {
	live := make([]client.Object, len(wanted))
	var taken error
	for i, c := range wanted {
		var err error
		live[i], err = read(ctx, echo, c)
		switch {
		case errors.As(err, new(*children.NameConflictError)):
			taken = cmp.Or(taken, err)
		case err != nil:
			return nil, err
		}
		seen.See(live[i])
		seen.Unwatched = seen.Unwatched || live[i] != nil && !children.IsManaged(live[i])
		if c.RunsPods {
			seen.NoDeployment = live[i] == nil
		}
	}
	return live, taken
}

// listPods returns the pods of an Echo's Deployment, the newest first, and its companions. Both are empty, and not nil, if there are
// none.
func listPods(ctx context.Context, reader client.Reader, echo *v1.Echo, which client.ListOption) (pods, companions []corev1.Pod, err error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(echo.Namespace), which); err != nil {
		return nil, nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods, companions = children.SplitPods(list.Items)
	status.SortPods(pods)
	return pods, companions, nil
}

// nodesOf returns the nodes that run the pods of an Echo, and their problems.
func (r *Reconciler) nodesOf(ctx context.Context, echo *v1.Echo, pods []corev1.Pod) (map[string]status.Node, error) {
	nodes := map[string]status.Node{}
	for name, count := range status.PodsByNode(pods) {
		node, err := controllers.Find(ctx, r.Client, client.ObjectKey{Name: name}, &corev1.Node{})
		if err == nil && node == nil && !slices.Contains(echo.Status.NodeProblems[name], status.NodeDeleted) {
			node, err = r.liveNode(ctx, name)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the node %s: %w", name, err)
		}
		nodes[name] = status.Node{Pods: count, Problems: status.ProblemsOf(node)}
	}
	return nodes, nil
}

// liveNode asks the API server for a node before it is reported as deleted: the cache may hold a pod on a new node before it holds the
// node. It lists, because the operator has no permission to get nodes.
func (r *Reconciler) liveNode(ctx context.Context, name string) (*corev1.Node, error) {
	list := &corev1.NodeList{}
	err := r.Live.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: name})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// read returns a child as it exists, nil if it does not, and a NameConflictError if its name is taken.
func (r *Reconciler) read(ctx context.Context, echo *v1.Echo, c children.Child) (client.Object, error) {
	return r.ReadOwned(ctx, r.Client, echo, c)
}

// readCached returns a child as the cache holds it, nil if it holds none that the Echo controls.
func (r *Reconciler) readCached(ctx context.Context, echo *v1.Echo, c children.Child) (client.Object, error) {
	return controllers.ReadCached(ctx, r.Client, echo, c)
}
