package v1

import corev1 "k8s.io/api/core/v1"

// Reason is the reason in a condition or an event. Its Go type determines the type of the event.
//
// +kubebuilder:object:generate=false
type Reason interface {
	// String returns the reason as it appears in conditions and events.
	String() string
	// EventType returns the type of an event with this reason: Normal or Warning.
	EventType() string
}

// NormalReason is a reason that requires no action.
type NormalReason string

// String implements Reason.
func (r NormalReason) String() string { return string(r) }

// EventType implements Reason.
func (NormalReason) EventType() string { return corev1.EventTypeNormal }

// WarningReason is a reason that usually requires action. If a Ready condition has a WarningReason, a Warning event reports the condition or
// its cause.
type WarningReason string

// String implements Reason.
func (r WarningReason) String() string { return string(r) }

// EventType implements Reason.
func (WarningReason) EventType() string { return corev1.EventTypeWarning }

// Condition reasons.
const (
	// ReasonAllPodsReady means that all requested echo servers are ready.
	ReasonAllPodsReady NormalReason = "AllPodsReady"
	// ReasonScaledToZero means that no echo servers are requested and none are running.
	ReasonScaledToZero NormalReason = "ScaledToZero"
	// ReasonRollingOut means that a change is being rolled out to the pods.
	ReasonRollingOut NormalReason = "RollingOut"
	// ReasonRolledOut means that all pods match the spec.
	ReasonRolledOut NormalReason = "RolledOut"
	// ReasonPodsNotReady means that pods are missing or not ready although nothing is being rolled out.
	ReasonPodsNotReady NormalReason = "PodsNotReady"
	// ReasonProgressDeadlineExceeded means that pods did not become ready within the progress deadline.
	ReasonProgressDeadlineExceeded WarningReason = "ProgressDeadlineExceeded"
	// ReasonQuotaExceeded means that the Echo exceeds a resource quota of the namespace, or omits a request or limit that the quota
	// requires.
	ReasonQuotaExceeded WarningReason = "QuotaExceeded"
	// ReasonPodsRejected means that the API server rejects the pods, for example because the pods violate a Pod Security Standard.
	ReasonPodsRejected WarningReason = "PodsRejected"
	// ReasonServiceAccountNotFound means that the ServiceAccount of the pods does not exist.
	ReasonServiceAccountNotFound WarningReason = "ServiceAccountNotFound"
	// ReasonDeploymentPaused means that the rollout of the Deployment is paused.
	ReasonDeploymentPaused WarningReason = "DeploymentPaused"
	// ReasonNodeProblem means that the node of a pod is not ready, is under pressure, or was deleted. For each node that runs pods of the Echo,
	// an event reports the problem.
	ReasonNodeProblem WarningReason = "NodeProblem"
	// ReasonUnschedulable means that the scheduler finds no node for a pod.
	ReasonUnschedulable WarningReason = "Unschedulable"
	// ReasonImagePullFailed means that an image cannot be pulled.
	ReasonImagePullFailed WarningReason = "ImagePullFailed"
	// ReasonContainerNotStarted means that a container cannot be started.
	ReasonContainerNotStarted WarningReason = "ContainerNotStarted"
	// ReasonPodsCrashing means that containers terminate repeatedly.
	ReasonPodsCrashing WarningReason = "PodsCrashing"
	// ReasonPodFailed means that a pod failed as a whole, for example because the pod was evicted.
	ReasonPodFailed WarningReason = "PodFailed"
	// ReasonGatewayAPIMissing means that the cluster does not serve the Gateway API resources that spec.gateway requires, or that the
	// operator lacks permission to use these resources.
	ReasonGatewayAPIMissing WarningReason = "GatewayAPIMissing"
	// ReasonRouteNotAccepted means that a Gateway of the Echo does not exist, or does not use the Echo's routes as specified.
	ReasonRouteNotAccepted WarningReason = "RouteNotAccepted"
	// ReasonAsExpected means that nothing needs attention.
	ReasonAsExpected NormalReason = "AsExpected"
	// ReasonInvalidSpec means that the operator cannot apply the spec until a user edits the spec.
	ReasonInvalidSpec WarningReason = "InvalidSpec"
	// ReasonNameConflict means that an object that the Echo does not own already has a name that the Echo needs.
	ReasonNameConflict WarningReason = "NameConflict"
	// ReasonDeletionBlocked means that another controller's finalizer blocks the deletion of an object that the operator must replace or remove.
	ReasonDeletionBlocked WarningReason = "DeletionBlocked"
	// ReasonForbidden means that the operator lacks a permission, or that admission control rejects its request. The operator retries.
	ReasonForbidden WarningReason = "Forbidden"
	// ReasonApplyFailed means that the API server did not accept a change. The operator retries.
	ReasonApplyFailed WarningReason = "ApplyFailed"
	// ReasonChecksPassed means that all checks have passed.
	ReasonChecksPassed NormalReason = "ChecksPassed"
	// ReasonCheckFailed means that a check found a problem in the network path. An event reports the failure, and each new cause.
	ReasonCheckFailed WarningReason = "CheckFailed"
	// ReasonCheckUnknown means that a check has no result. An event reports that a check cannot run, or that an expected result is missing.
	ReasonCheckUnknown WarningReason = "CheckUnknown"
	// ReasonPaused means that the Echo is paused.
	ReasonPaused NormalReason = "Paused"
	// ReasonDeleting means that the Echo is being deleted.
	ReasonDeleting NormalReason = "Deleting"
)

// Event reasons. If an Echo is not ready, the event usually has the reason EventRolloutStarted or EventNotReady, not the Ready condition's
// reason. Seven condition reasons are also event reasons: ReasonInvalidSpec, ReasonNameConflict, ReasonRouteNotAccepted,
// ReasonGatewayAPIMissing, ReasonNodeProblem, ReasonCheckFailed, and ReasonCheckUnknown.
const (
	// EventDeployed reports that the Deployment was created.
	EventDeployed NormalReason = "Deployed"
	// EventScaled reports that the number of replicas of the Deployment was changed.
	EventScaled NormalReason = "Scaled"
	// EventUpdated reports that the pod template of the Deployment was changed.
	EventUpdated NormalReason = "Updated"
	// EventReady reports that the Echo became ready.
	EventReady NormalReason = "Ready"
	// EventRolloutStarted reports that the Echo is not ready because a requested change is being rolled out.
	EventRolloutStarted NormalReason = "RolloutStarted"
	// EventNotReady reports that the Echo is not ready, or that the cause has changed.
	EventNotReady WarningReason = "NotReady"
	// EventRouteAccepted reports that the Gateways use the Echo's routes again.
	EventRouteAccepted NormalReason = "RouteAccepted"
	// EventCheckPassed reports that the result of a check became Passed.
	EventCheckPassed NormalReason = "CheckPassed"
	// EventDeleteRequested reports that the deletion of the Echo began.
	EventDeleteRequested NormalReason = "DeleteRequested"
	// EventNodeRecovered reports that a node has recovered, or no longer runs pods of the Echo.
	EventNodeRecovered NormalReason = "NodeRecovered"
	// EventEchoNotFound is recorded on a pod whose companion label names an Echo that does not exist.
	EventEchoNotFound WarningReason = "EchoNotFound"
	// EventCompanionNotCreated is recorded on a pod whose companion cannot be created.
	EventCompanionNotCreated WarningReason = "CompanionNotCreated"
	// EventNotMonitored reports that the PodMonitor of the Echo cannot be created or changed.
	EventNotMonitored WarningReason = "NotMonitored"
)
