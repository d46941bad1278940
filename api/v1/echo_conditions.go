package v1

// The conditions of an Echo. All three are always present.
const (
	// ConditionReady is True when every wanted echo server answers and nothing is left to do.
	ConditionReady = "Ready"
	// ConditionProgressing is True while a change is being rolled out.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True when the Echo needs somebody's attention.
	ConditionDegraded = "Degraded"
)

// The reasons of conditions.
const (
	// ReasonAllPodsReady: every wanted echo server answers.
	ReasonAllPodsReady = "AllPodsReady"
	// ReasonScaledToZero: no echo server is wanted and there is none.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonRollingOut: a change is on its way to the pods.
	ReasonRollingOut = "RollingOut"
	// ReasonRolledOut: the pods are as the Echo wants them.
	ReasonRolledOut = "RolledOut"
	// ReasonPodsNotReady: pods are missing or do not answer, and nothing is being rolled out.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonProgressDeadlineExceeded: pods have not become ready in the time that a rollout may take.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonQuotaExceeded: a quota of the namespace does not allow what is wanted.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonPodsRefused: the API server does not take the pods, for instance because of Pod Security.
	ReasonPodsRefused = "PodsRefused"
	// ReasonNodeProblem: the node of a pod is not ready, under pressure or gone.
	ReasonNodeProblem = "NodeProblem"
	// ReasonUnschedulable: no node takes a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed: an image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerNotStarted: a container cannot be started.
	ReasonContainerNotStarted = "ContainerNotStarted"
	// ReasonPodsCrashing: containers end again and again.
	ReasonPodsCrashing = "PodsCrashing"
	// ReasonPodFailed: a pod ended as a whole, for instance by eviction.
	ReasonPodFailed = "PodFailed"
	// ReasonAsExpected: nothing needs attention.
	ReasonAsExpected = "AsExpected"
	// ReasonInvalidSpec: the spec cannot be carried out; only an edit helps.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNameConflict: an object that is not the Echo's has the name that one of its objects needs.
	ReasonNameConflict = "NameConflict"
	// ReasonForbidden: the operator lacks a right that it needs, or an admission rule refuses what it asks; it is tried again.
	ReasonForbidden = "Forbidden"
	// ReasonApplyFailed: the API server did not take a change; it is tried again.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonPaused: the Echo is paused; its objects are left as they are.
	ReasonPaused = "Paused"
	// ReasonDeleting: the Echo is being deleted.
	ReasonDeleting = "Deleting"
)

// The phases of an Echo, in words for which the OpenShift console has icons.
const (
	PhasePending     = "Pending"
	PhaseUpdating    = "Updating"
	PhaseReady       = "Ready"
	PhaseWarning     = "Warning"
	PhaseFailed      = "Failed"
	PhaseTerminating = "Terminating"
)
