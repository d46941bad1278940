// Package controllers holds the code that the reconcilers share: it reads, writes, and deletes objects, reports failures, and keeps state
// between reconciles.
//
// Each reconciler is a package in a subdirectory. A reconcile can be interrupted at any point and repeated. Its outcome depends only on the
// objects that exist and, for deadlines and transitions, on the previous status. A reconciler remembers state only to avoid unnecessary
// requests. No decision depends on this memory. An error is classified once, and a transient error appears in the status only after two
// seconds.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// Reconciler makes a cluster's objects match its Echoes. All fields are required.
type EchoReconciler struct {
	Dependencies
	// Gateways describes the cluster's support for the Gateway API. It may be empty.
	Gateways GatewayAPI
	// Labeled holds the pods that have a companion label.
	Labeled cache.Cache

	failures     Failures
	expectations expectations
	corrections  corrections
}

// The permissions on children are in controllers/zz_generated.rights.go, which is generated from the table of kinds.
// +kubebuilder:rbac:groups=example.com,resources=echoes,verbs=list;watch;patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile makes an Echo's objects match the Echo's spec.
func (r *EchoReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := Find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil {
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait, err := r.expectations.wait(ctx, r.Client, echo, r.Now()); wait > 0 || err != nil {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	return r.reconcile(ctx, echo)
}

// forget drops the state of an Echo that is gone.
func (r *EchoReconciler) forget(echo types.NamespacedName) {
	r.Metrics.Echoes.Forget(echo)
	r.failures.End(echo, nil)
	r.expectations.Forget(echo)
	r.corrections.Forget(echo)
}

func (r *EchoReconciler) reconcile(ctx context.Context, echo *v1.Echo) (ctrl.Result, error) {
	var next time.Duration
	var failure *status.Failure
	if echo.DeletionTimestamp.IsZero() {
		next, failure = r.reconcileEcho(ctx, echo)
	} else {
		next, failure = r.reconcileDelete(ctx, echo)
	}
	r.failures.End(client.ObjectKeyFromObject(echo), failure)
	r.Count(ctx, "echo", failure)
	return Result(next, failure)
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
	if failure != nil && failure.NoRetry || failure.IsRefused() {
		failure.RetryAfter = status.Earliest(failure.RetryAfter, report.Next) // the failure may end without a change to the Echo
	}
	return report.Next, failure
}

// publish writes a report's status if the status has changed, and then reports the transitions.
func (r *EchoReconciler) publish(ctx context.Context, echo *v1.Echo, report status.Report) error {
	if err := r.PublishStatus(ctx, r.echoWriter(), echo, &report.Status, report.Transitions); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.Metrics.Echoes.Reported(echo, &report.Status)
	return nil
}

// classify converts the error of a reconcile to a failure.
func (r *EchoReconciler) classify(echo *v1.Echo, err error) *status.Failure {
	return r.failures.Tolerate(client.ObjectKeyFromObject(echo), status.Classify(err), r.Now())
}

// config returns the configuration that the children of Echoes depend on.
func (r *EchoReconciler) config() objects.Config {
	config := r.Config()
	config.Served = r.Gateways.Served
	return config
}

// wrote records that an Echo's reconcile wrote an object.
func (r *EchoReconciler) wrote(echo client.ObjectKey, before, after client.Object) {
	r.expectations.wrote(echo, before, after, r.Now())
}

func (r *EchoReconciler) childWriter() *ChildWriter {
	return &ChildWriter{Client: r.Client, Live: r.Live, Compare: apply.Compare, Wrote: r.wrote}
}

func (r *EchoReconciler) echoWriter() *EchoWriter {
	return &EchoWriter{Client: r.Client, Wrote: r.wrote}
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *EchoReconciler) Memories() []func() {
	return []func(){r.expectations.Clear, r.failures.Clear, r.corrections.Clear}
}

// observe reads from the cache the objects related to an Echo's children: the Echo's pods and companions, the nodes of the pods, and the
// Gateways. If observe cannot read some of these objects, it still returns the others.
func (r *EchoReconciler) observe(ctx context.Context, echo *v1.Echo) (status.Observation, error) {
	gateways, unreadable := r.Gateways.Observe(ctx, r.Client, echo)
	pods, companions, err := listPods(ctx, r.Client, echo, CachedPodsOf(echo))
	var nodes map[string]status.Node
	if err == nil {
		nodes, err = r.nodesOf(ctx, echo, pods)
	}
	seen := status.Observation{
		Pods: pods, Companions: companions, Nodes: nodes,
		Gateways: gateways.Gateways, GatewaysUnknown: gateways.Unknown, GatewaysRefused: gateways.Refused, Unserved: gateways.Unserved,
		NoRoute: objects.NoRoute(echo, r.config()),
	}
	if err == nil {
		seen.MissingCompanions, err = r.missingCompanions(ctx, echo, companions)
	}
	return seen, errors.Join(err, unreadable)
}

// missingCompanions returns how many pods request a companion that does not exist.
func (r *EchoReconciler) missingCompanions(ctx context.Context, echo *v1.Echo, companions []corev1.Pod) (int, error) {
	owners := &corev1.PodList{}
	err := r.Labeled.List(ctx, owners, client.InNamespace(echo.Namespace), client.MatchingLabels{v1.CompanionLabel: echo.Name})
	if err != nil {
		return 0, fmt.Errorf("listing the pods that request a companion: %w", err)
	}
	missing := 0
	for i := range owners.Items {
		if (&objects.CompanionState{Owner: &owners.Items[i], Companions: companions}).LacksCompanion() {
			missing++
		}
	}
	return missing, nil
}

// listPods returns the pods of an Echo's Deployment, newest first, and its companions. A list without pods is empty, not nil.
func listPods(ctx context.Context, reader client.Reader, echo *v1.Echo,
	which client.ListOption) (pods, companions []corev1.Pod, err error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(echo.Namespace), which); err != nil {
		return nil, nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods, companions = objects.SplitPods(list.Items)
	status.SortPods(pods)
	return pods, companions, nil
}

// nodesOf returns the nodes that run an Echo's pods, and the problems of these nodes.
func (r *EchoReconciler) nodesOf(ctx context.Context, echo *v1.Echo, pods []corev1.Pod) (map[string]status.Node, error) {
	nodes := map[string]status.Node{}
	for name, count := range status.PodsByNode(pods) {
		node, err := Find(ctx, r.Client, client.ObjectKey{Name: name}, &corev1.Node{})
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

// liveNode asks the API server for a node that the cache does not hold. The cache may receive a pod before the pod's node. liveNode sends a
// list request, because the operator has no permission to get nodes.
func (r *EchoReconciler) liveNode(ctx context.Context, name string) (*corev1.Node, error) {
	list := &corev1.NodeList{}
	err := r.Live.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: name})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}
