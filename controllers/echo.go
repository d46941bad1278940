// Package controllers reconciles Echoes: it makes their objects, checks, companions, and PodMonitors match their specs, and reports the
// result.
//
// A reconcile can be interrupted at any point and repeated. Its outcome depends only on the objects that exist and, for deadlines and
// transitions, on the previous status. A reconciler remembers state only to avoid or delay requests. If it loses this memory, at any time,
// the outcome is the same.
// An error is classified once, and a transient error appears in the status only after two seconds.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// EchoReconciler makes a cluster's objects match its Echoes. All fields are required.
type EchoReconciler struct {
	Dependencies
	// Gateways describes the cluster's support for the Gateway API. It may be empty.
	Gateways GatewayAPI
	// Labeled holds the pods that have a companion label.
	Labeled cache.Cache

	failures     failures
	expectations expectations
	corrections  corrections
}

// The permissions on children are in controllers/zz_generated.rights.go, which is generated from the table of kinds.
// +kubebuilder:rbac:groups=example.com,resources=echoes,verbs=list;watch;patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile makes an Echo's objects match the Echo's spec.
func (r *EchoReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil {
		r.Metrics.Echoes.Forget(request.NamespacedName)
		r.failures.end(request.NamespacedName, nil)
		r.expectations.forget(request.NamespacedName)
		r.corrections.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait, err := r.expectations.wait(ctx, r.Client, echo, r.Now()); wait > 0 || err != nil {
		if err == nil {
			log.FromContext(ctx).V(1).Info("Waiting until the cache holds the last writes", "lookAgainAfter", wait)
		}
		return ctrl.Result{RequeueAfter: wait}, err
	}
	return r.reconcile(ctx, echo)
}

func (r *EchoReconciler) reconcile(ctx context.Context, echo *v1.Echo) (ctrl.Result, error) {
	reconcile := r.reconcileEcho
	if !echo.DeletionTimestamp.IsZero() {
		reconcile = r.reconcileDelete
	}
	next, failure := reconcile(ctx, echo)
	return r.finish(ctx, "echo", &r.failures, client.ObjectKeyFromObject(echo), next, failure)
}

// reconcileEcho brings an Echo's children to their desired state. Even if that fails, reconcileEcho writes the status. It returns the
// failure, and the time until the next reconcile if no event arrives.
func (r *EchoReconciler) reconcileEcho(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	seen, err := r.converge(ctx, echo)
	failure := r.classify(echo, err)
	report := status.Evaluate(echo, seen, failure, r.Now())
	if err := r.publish(ctx, echo, report); err != nil {
		return 0, r.classify(echo, err)
	}
	if failure != nil && failure.NoRetry || failure.IsRefused() { // such a failure may end without a change to the Echo
		failure.RetryAfter = status.Earliest(failure.RetryAfter, report.Next)
	}
	return report.Next, failure
}

// converge brings an Echo's children to their desired state, and returns the observed state and the changes.
func (r *EchoReconciler) converge(ctx context.Context, echo *v1.Echo) (status.Observation, error) {
	seen, err := r.observe(ctx, echo)
	if err != nil {
		return seen, err
	}
	ensured, err := r.ensureChildren(ctx, echo)
	seen.Contested, seen.CorrectedAfter = r.corrections.contested(echo, r.Now())
	return withChildren(seen, ensured), err
}

// observe reads from the cache the objects related to an Echo's children: the Echo's pods and companions, the nodes of the pods, and the
// Gateways. If observe cannot read some of these objects, it still returns the others.
func (r *EchoReconciler) observe(ctx context.Context, echo *v1.Echo) (status.Observation, error) {
	seen := status.Observation{NoRoute: objects.NoRoute(echo, r.childConfig())}
	unreadable := r.Gateways.observe(ctx, r.Client, echo, &seen)
	pods, companions, err := listPods(ctx, r.Client, echo, cachedPodsOf(echo))
	seen.Pods = pods
	if err == nil {
		seen.Nodes, err = r.nodesOf(ctx, echo, seen.Pods)
	}
	if err == nil {
		seen.MissingCompanions, err = r.missingCompanions(ctx, echo, companions)
	}
	return seen, errors.Join(err, unreadable)
}

// listPods returns the pods of an Echo's Deployment, newest first, and its companions. A list without pods is empty, not nil.
func listPods(ctx context.Context, reader client.Reader, echo *v1.Echo,
	which client.ListOption) (pods, companions []*objects.Pod, err error) {
	all, err := podsIn(ctx, reader, objects.PodOf, client.InNamespace(echo.Namespace), which)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods, companions = objects.SplitPods(all)
	status.SortPods(pods)
	return pods, companions, nil
}

// nodesOf returns the nodes that run an Echo's pods, and the problems of these nodes.
func (r *EchoReconciler) nodesOf(ctx context.Context, echo *v1.Echo, pods []*objects.Pod) (map[string]status.Node, error) {
	nodes := map[string]status.Node{}
	for name, count := range status.PodsByNode(pods) {
		node, err := find(ctx, r.Client, client.ObjectKey{Name: name}, &corev1.Node{})
		if err == nil && node == nil && !slices.Contains(v1.ProblemsOf(echo.Status.NodeProblems, name), status.NodeDeleted) {
			// The cache may receive a pod before the pod's node. The operator has no permission to get nodes, but it may list them.
			list := &corev1.NodeList{}
			err = r.Live.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: name})
			if len(list.Items) > 0 {
				node = &list.Items[0]
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the node %s: %w", name, err)
		}
		nodes[name] = status.Node{Pods: count, Problems: status.ProblemsOf(node)}
	}
	return nodes, nil
}

// missingCompanions returns how many pods request a companion that does not exist.
func (r *EchoReconciler) missingCompanions(ctx context.Context, echo *v1.Echo, companions []*objects.Pod) (int, error) {
	owners, err := podsIn(ctx, r.Labeled, objects.LabeledPodOf,
		client.InNamespace(echo.Namespace), client.MatchingLabels{v1.CompanionLabel: echo.Name})
	if err != nil {
		return 0, fmt.Errorf("listing the pods that request a companion: %w", err)
	}
	missing := 0
	for _, owner := range owners {
		if (&objects.CompanionState{Owner: owner, Companions: companions}).LacksCompanion() {
			missing++
		}
	}
	return missing, nil
}

// publish writes a report's status if the status has changed, and then reports the transitions. The API server rejects a status that was
// computed from an old version of the Echo, so no transition is reported twice.
func (r *EchoReconciler) publish(ctx context.Context, echo *v1.Echo, report status.Report) error {
	if err := r.echoWriter(echo).setStatus(ctx, echo, &report.Status); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.SendEvents(ctx, echo, report.Transitions...)
	r.Metrics.Echoes.Reported(echo, &report.Status)
	return nil
}

func (r *EchoReconciler) classify(echo *v1.Echo, err error) *status.Failure {
	return r.failures.tolerate(client.ObjectKeyFromObject(echo), status.Classify(err), r.Now())
}

func (r *EchoReconciler) echoWriter(echo *v1.Echo) *echoWriter {
	return &echoWriter{client: r.Client, wrote: r.wrote(echo)}
}

// wrote returns a function that records that an Echo's reconcile wrote an object.
func (r *EchoReconciler) wrote(echo *v1.Echo) func(before, after client.Object) {
	return func(before, after client.Object) { r.expectations.wrote(echo, before, after, r.Now()) }
}

// childConfig returns the configuration that the children of Echoes depend on.
func (r *EchoReconciler) childConfig() objects.Config {
	config := r.config()
	config.Served = r.Gateways.Served
	return config
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *EchoReconciler) Memories() []func() {
	return []func(){r.expectations.clear, r.failures.clear, r.corrections.clear}
}
