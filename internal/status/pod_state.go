package status

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// maxNames is the maximum number of pods in a state, and of nodes, that a status names.
const maxNames = 50

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
func SummarizePod(pod *objects.Pod) (types.NamespacedName, PodSummary, bool) {
	echo := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Echo}
	companion := pod.CompanionOf != ""
	if echo.Name == "" || !companion && !pod.OfReplicaSet {
		return echo, PodSummary{}, false
	}
	return echo, PodSummary{Name: pod.Name, Node: pod.NodeName, State: PodState(pod), Companion: companion}, true
}

// PodState returns the state of a pod: Ready, NotReady, Pending, Failed, or Terminating.
func PodState(pod *objects.Pod) string {
	switch {
	case pod.Deleted:
		return podTerminating
	case pod.Ready:
		return podReady
	case pod.HasEnded():
		return podFailed
	case pod.Phase == corev1.PodRunning:
		return podNotReady
	default:
		return podPending
	}
}

// PodDiffers reports whether a change to a pod changes an Echo's status.
func PodDiffers(before, after *objects.Pod) bool {
	return PodState(before) != PodState(after) || podCause(before) != podCause(after) || before.NodeName != after.NodeName
}

// HasNewCause reports whether an update of a pod reveals a new reason why the pod is not ready. before is empty if the pod is new.
func HasNewCause(before, after *objects.Pod) bool {
	now := podCause(after)
	return now != (cause{}) && podCause(before) != now
}

// SortPods sorts pods by age, newest first.
func SortPods(pods []*objects.Pod) {
	slices.SortFunc(pods, func(a, b *objects.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// podStates returns the names of pods, grouped by state. Each state has at most maxNames names, which are sorted. The result is never nil.
func podStates(pods []*objects.Pod) map[string][]string {
	states := map[string][]string{}
	for _, pod := range pods {
		state := PodState(pod)
		states[state] = append(states[state], pod.Name)
	}
	for state, names := range states {
		slices.Sort(names)
		states[state] = names[:min(len(names), maxNames)]
	}
	return states
}
