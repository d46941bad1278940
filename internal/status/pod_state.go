package status

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// maxPodNames is the maximum number of pod names that a status lists for each state.
const maxPodNames = 50

// The status groups pods into these states.
const (
	podReady       = "Ready"
	podNotReady    = "NotReady"
	podPending     = "Pending"
	podFailed      = "Failed"
	podTerminating = "Terminating"
)

// PodSummary is a summary of one of an Echo's pods.
type PodSummary struct {
	Name string
	// Node is the name of the pod's node, and is empty until the pod is scheduled.
	Node string
	// State is the pod's state, as PodState returns it.
	State string
	// Companion is true if the pod is a companion.
	Companion bool
}

// SummarizePod returns a pod's Echo and a summary of the pod, or false if the pod belongs to no Echo.
func SummarizePod(pod *corev1.Pod) (types.NamespacedName, PodSummary, bool) {
	echo := types.NamespacedName{Namespace: pod.Namespace, Name: objects.EchoOf(pod)}
	companion := objects.IsCompanion(pod)
	if echo.Name == "" || !companion && !objects.IsEchoPod(pod) {
		return echo, PodSummary{}, false
	}
	return echo, PodSummary{Name: pod.Name, Node: pod.Spec.NodeName, State: PodState(pod), Companion: companion}, true
}

// PodState returns the state of a pod: Ready, NotReady, Pending, Failed, or Terminating.
func PodState(pod *corev1.Pod) string {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return podTerminating
	case slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }):
		return podReady
	case objects.HasEnded(pod):
		return podFailed
	case pod.Status.Phase == corev1.PodRunning:
		return podNotReady
	default:
		return podPending
	}
}

// PodDiffers reports whether a change to a pod changes an Echo's status.
func PodDiffers(before, after *corev1.Pod) bool {
	return PodState(before) != PodState(after) || podCause(before) != podCause(after) || before.Spec.NodeName != after.Spec.NodeName
}

// HasNewCause reports whether an update of a pod reveals a new reason why the pod is not ready. before is nil if the pod is new.
func HasNewCause(before, after *corev1.Pod) bool {
	now := podCause(after)
	return now != (cause{}) && (before == nil || podCause(before) != now)
}

// SortPods sorts pods by age, newest first.
func SortPods(pods []corev1.Pod) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// podStates returns the names of pods, grouped by state. The names for each state are sorted, and there are at most maxPodNames of them. The
// result is never nil.
func podStates(pods []corev1.Pod) map[string][]string {
	states := map[string][]string{}
	for i := range pods {
		state := PodState(&pods[i])
		states[state] = append(states[state], pods[i].Name)
	}
	for state, names := range states {
		slices.Sort(names)
		states[state] = names[:min(len(names), maxPodNames)]
	}
	return states
}
