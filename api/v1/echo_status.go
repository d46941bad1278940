package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EchoStatus defines the observed state of an Echo.
type EchoStatus struct {
	// observedGeneration is the most recent generation observed by the operator.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",order=13,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase summarizes the conditions in one word: Pending, Updating, Ready, Warning, Failed, or Terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Status",order=2,xDescriptors={"urn:alm:descriptor:text"}
	Phase string `json:"phase,omitempty"`

	// message summarizes the state of the Echo and any action that you must take. The message has at most 300 bytes. The conditions contain the full messages.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message",order=3,xDescriptors={"urn:alm:descriptor:text"}
	Message string `json:"message,omitempty"`

	// replicas is the observed number of echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Current replicas",order=7,xDescriptors={"urn:alm:descriptor:text"}
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of ready echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",order=6,xDescriptors={"urn:alm:descriptor:text"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of echo servers that match the spec.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated replicas",order=8,xDescriptors={"urn:alm:descriptor:text"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector is the label selector of the echo server pods. The scale subresource uses this selector.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",order=12,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Selector string `json:"selector,omitempty"`

	// url is the URL of the echo servers for clients inside the cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Internal URL",order=5,xDescriptors={"urn:alm:descriptor:text"}
	URL string `json:"url,omitempty"`

	// externalURL is the URL of the echo servers for clients outside the cluster. The URL of the Ingress takes precedence, then the URL of a Gateway, then the URL of the load balancer. If none of these URLs exists, this field is not set.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="URL",order=4,xDescriptors={"urn:alm:descriptor:org.w3:link"}
	ExternalURL string `json:"externalURL,omitempty"`

	// pods lists the names of the echo server pods by state: Ready, NotReady, Pending, Failed, or Terminating. At most 50 names are listed per state.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods",order=1,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podStatuses"}
	Pods map[string][]string `json:"pods,omitzero"`

	// nodeProblems lists the nodes that run pods of the Echo and have problems. At most 50 nodes are listed.
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Node problems",order=14,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	NodeProblems []EchoNodeProblems `json:"nodeProblems,omitempty"`

	// checks lists the observed state of each check.
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Checks",order=15,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Checks []EchoCheckStatus `json:"checks,omitempty"`

	// conditions are the latest observations of the state of the Echo: Ready, Progressing, and Degraded. Stalled is present if the Echo cannot become ready until a user acts. PathsHealthy is present if the Echo has checks.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",order=11,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EchoNodeProblems lists the problems of a node.
type EchoNodeProblems struct {
	// name is the name of the node.
	// +required
	Name string `json:"name"`

	// problems are the problems of the node, such as NotReady or MemoryPressure.
	// +listType=set
	// +optional
	Problems []string `json:"problems,omitempty"`
}

// ProblemsOf returns the problems of a node in a list, or nil if the list does not contain the node.
func ProblemsOf(nodes []EchoNodeProblems, name string) []string {
	for _, node := range nodes {
		if node.Name == name {
			return node.Problems
		}
	}
	return nil
}

// The condition types of an Echo. All but ConditionStalled and ConditionPathsHealthy are always present.
const (
	// ConditionReady is True when all requested echo servers are ready and no change is pending.
	ConditionReady = "Ready"
	// ConditionProgressing is True while a change is being rolled out.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True when a problem that requires action is known, or when pods have been missing for longer than the progress
	// deadline.
	ConditionDegraded = "Degraded"
	// ConditionStalled is True when the Echo cannot become ready until a user acts. The operator sets this condition immediately if the
	// operator rejects the spec or a name is taken, and after a minute if the API server keeps rejecting a request. In all other cases,
	// the condition is absent. kstatus reports a stalled Echo as failed.
	ConditionStalled = "Stalled"
	// ConditionPathsHealthy is True when all checks have passed. This condition is present only if the Echo has checks. No other
	// condition depends on PathsHealthy.
	ConditionPathsHealthy = "PathsHealthy"
)

// The phases of an Echo. The OpenShift console has an icon for each phase.
const (
	PhasePending     = "Pending"
	PhaseUpdating    = "Updating"
	PhaseReady       = "Ready"
	PhaseWarning     = "Warning"
	PhaseFailed      = "Failed"
	PhaseTerminating = "Terminating"
)
