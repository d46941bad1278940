package controllers

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// byNode is the index by which the pods of a node are found.
const byNode = "spec.nodeName"

func nodeOfPod(pod client.Object) []string {
	if p, ok := pod.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}
	}
	return nil
}

// SlimNode leaves of a node whether it takes pods, and its conditions. It is a cache's transform.
func SlimNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:       corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
	}, nil
}

// echoesOn are the Echoes that have pods on a node.
func (r *EchoReconciler) echoesOn(ctx context.Context, node client.Object) []reconcile.Request {
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{byNode: node.GetName()}); err != nil { // only at the end of the process
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if !isCompanion(&list.Items[i]) {
			requests = append(requests, echoOfPod(ctx, &list.Items[i])...)
		}
	}
	return requests
}

// nodeTurned lets through that something else is wrong with a node than before, or nothing any more.
func nodeTurned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*corev1.Node)
		after, is := e.ObjectNew.(*corev1.Node)
		return !was || !is || !slices.Equal(kindsOf(problemsOf(before)), kindsOf(problemsOf(after)))
	}}
}

// nodesOf finds out how the nodes are on which an Echo's pods run.
func (r *EchoReconciler) nodesOf(ctx context.Context, echo *v1.Echo, pods []corev1.Pod) (map[string]nodeState, error) {
	nodes := map[string]nodeState{}
	for name, count := range podsByNode(pods) {
		node, err := found(ctx, r.Client, client.ObjectKey{Name: name}, &corev1.Node{})
		if err == nil && node == nil && !slices.Contains(echo.Status.NodeProblems[name], nodeDeleted) {
			node, err = r.liveNode(ctx, name)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the node %s: %w", name, err)
		}
		nodes[name] = nodeState{count, problemsOf(node)}
	}
	return nodes, nil
}

// liveNode asks the API server for a node before it is called deleted: the cache may know of a pod on a new node before it knows
// of the node. It lists because the operator may not get nodes.
func (r *EchoReconciler) liveNode(ctx context.Context, name string) (*corev1.Node, error) {
	list := &corev1.NodeList{}
	err := r.Live.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: name})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}
