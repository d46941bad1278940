package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// maxPodNames is how many names of pods in one state a status holds.
const maxPodNames = 50

// The states of a pod, as the status groups them.
const (
	podReady       = "Ready"
	podNotReady    = "NotReady"
	podPending     = "Pending"
	podFailed      = "Failed"
	podTerminating = "Terminating"
)

// podsOf reads the pods of an Echo, the newest first; none is an empty list. The reader decides whether they come from the
// cache or from the API server.
func podsOf(ctx context.Context, reader client.Reader, echo *v1.Echo) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(echo.Namespace), client.MatchingLabels(childLabels(echo))); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods := []corev1.Pod{}
	for i := range list.Items {
		if isEchoPod(&list.Items[i]) {
			pods = append(pods, list.Items[i])
		}
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods, nil
}

// isEchoPod tells the pods of an Echo's Deployment from others with their labels.
func isEchoPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "ReplicaSet"
}

// companionsOf reads the companions that were made from an Echo.
func companionsOf(ctx context.Context, reader client.Reader, echo *v1.Echo) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(echo.Namespace), client.MatchingLabels(companionLabels(echo.Name))); err != nil {
		return nil, fmt.Errorf("listing the companions: %w", err)
	}
	return append([]corev1.Pod{}, slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !isCompanion(&pod) })...), nil
}

// PodSummary is what there is to tell of a pod of an Echo.
type PodSummary struct {
	Name string
	// Node is empty until the pod has one.
	Node string
	// State is Ready, NotReady, Pending, Failed or Terminating.
	State string
	// Companion tells a companion from the Echo's own pods.
	Companion bool
}

// SummarizePod tells of which Echo a pod is, if of any, and what there is to tell of it.
func SummarizePod(pod *corev1.Pod) (types.NamespacedName, PodSummary, bool) {
	echo := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[labelInstance]}
	companion := isCompanion(pod)
	if echo.Name == "" || !companion && !isEchoPod(pod) {
		return echo, PodSummary{}, false
	}
	return echo, PodSummary{Name: pod.Name, Node: pod.Spec.NodeName, State: podState(pod), Companion: companion}, true
}

// podState is how a pod is, in one word.
func podState(pod *corev1.Pod) string {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return podTerminating
	case isPodReady(pod):
		return podReady
	case hasEnded(pod):
		return podFailed
	case pod.Status.Phase == corev1.PodRunning:
		return podNotReady
	default:
		return podPending
	}
}

func isPodReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podStates are the names of pods by their state, at most maxPodNames of each, in the order of the alphabet.
func podStates(pods []corev1.Pod) map[string][]string {
	states := map[string][]string{}
	for i := range pods {
		state := podState(&pods[i])
		states[state] = append(states[state], pods[i].Name)
	}
	for state, names := range states {
		slices.Sort(names)
		states[state] = names[:min(len(names), maxPodNames)]
	}
	return states
}

// echoOfPod is the Echo that a pod belongs to, by its labels; a pod that is not the operator's is not in the cache.
func echoOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[labelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// podTurned lets through what an Echo's status tells of its pods, and none of the rest that happens to them.
func podTurned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*corev1.Pod)
		after, is := e.ObjectNew.(*corev1.Pod)
		return !was || !is || podState(before) != podState(after) || podCause(before) != podCause(after)
	}}
}
