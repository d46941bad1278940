package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/objects"

	"github.com/echo-operator/echo-operator/internal/status"
)

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
