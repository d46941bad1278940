package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Pod holds what the operator's main cache keeps of a pod, so that code that needs anything else does not compile.
type Pod struct {
	podBase
	CreationTimestamp metav1.Time
	Labels            map[string]string
	// Echo and Check are the names of the pod's Echo and check according to its labels.
	Echo, Check string
	// AppliedHash is the digest of the configuration from which the pod was created.
	AppliedHash string
	// OfReplicaSet is true if a ReplicaSet created the pod.
	OfReplicaSet bool
	// TLSSecret is the name of the Secret that contains the pod's certificate. It is empty if the pod does not serve HTTPS.
	TLSSecret string
	// Reason and Message say why the pod failed.
	Reason, Message string
	Ready           bool
	// Unschedulable is the scheduler's message about a pod that fits on no node.
	Unschedulable string
	// Containers are the init containers, followed by the other containers.
	Containers []Container
}

// Container holds what the cache keeps of a container's status.
type Container struct {
	Name, Image                 string
	Ready                       bool
	RestartCount                int32
	State, LastTerminationState corev1.ContainerState
}

// LabeledPod holds what the operator's second cache keeps of a pod that requests a companion.
type LabeledPod struct {
	podBase
	// Echo is the name of the Echo from which the pod requests the companion.
	Echo        string
	Tolerations []corev1.Toleration
}

// podBase holds what both caches keep of a pod.
type podBase struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Deleted is true if the pod's deletion has begun.
	Deleted bool
	// CompanionOf is the name of the pod that a companion belongs to. It is empty if the pod is not a companion.
	CompanionOf string
	NodeName    string
	Phase       corev1.PodPhase
}

// Object returns an object that identifies the pod in requests and events.
func (p *podBase) Object() *corev1.Pod {
	return &corev1.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion}
}

// HasEnded reports whether all containers of the pod have terminated and will not be restarted.
func (p *podBase) HasEnded() bool {
	return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// PodOf returns what the main cache keeps of a pod. The pod may also come from the API server.
func PodOf(pod *corev1.Pod) *Pod {
	owner := metav1.GetControllerOfNoCopy(pod)
	p := &Pod{
		podBase: podBaseOf(pod), CreationTimestamp: pod.CreationTimestamp, Labels: pod.Labels, Echo: EchoOf(pod), Check: CheckOf(pod),
		AppliedHash: pod.Annotations[v1.AppliedHashAnnotation], OfReplicaSet: owner != nil && owner.Kind == "ReplicaSet",
		Reason: pod.Status.Reason, Message: pod.Status.Message,
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == tlsVolume && volume.Secret != nil {
			p.TLSSecret = volume.Secret.SecretName
		}
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			p.Ready = true
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			p.Unschedulable = c.Message
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			p.Containers = append(p.Containers, Container{s.Name, s.Image, s.Ready, s.RestartCount, s.State, s.LastTerminationState})
		}
	}
	return p
}

// LabeledPodOf returns what the second cache keeps of a pod.
func LabeledPodOf(pod *corev1.Pod) *LabeledPod {
	return &LabeledPod{podBase: podBaseOf(pod), Echo: pod.Labels[v1.CompanionLabel], Tolerations: pod.Spec.Tolerations}
}

func podBaseOf(pod *corev1.Pod) podBase {
	return podBase{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, NodeName: pod.Spec.NodeName,
		Deleted: !pod.DeletionTimestamp.IsZero(), CompanionOf: CompanionOwner(pod), Phase: pod.Status.Phase,
	}
}
