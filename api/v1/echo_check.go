package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EchoCheck tests the network path to the echo servers on a schedule. A check reports how proxies in the path, such as an ingress or a gateway, handle requests.
type EchoCheck struct {
	// name is the name of the check. The name of the CronJob begins with the names of the Echo and the check, and ends with a digest of both names.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name",order=78,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`

	// schedule is the schedule in Cron format, for example */15 * * * * for every 15 minutes. The schedule uses the time zone of the kube-controller-manager, which is usually UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule",order=79,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Schedule string `json:"schedule"`

	// url is the URL to send requests to. Defaults to status.externalURL. Unless the operator runs with CHECK_URLS=any, the URL must be status.url, status.externalURL, or a URL below one of these two URLs.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="URL",order=80,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	URL string `json:"url,omitempty"`

	// address is the host name or IP address to connect to, optionally with a port. Defaults to the host and port in the URL. address is allowed only if the operator runs with CHECK_URLS=any.
	// +kubebuilder:validation:MaxLength=320
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Address",order=81,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Address string `json:"address,omitempty"`

	// caConfigMap is the name of a ConfigMap in the same namespace. The key ca.crt of the ConfigMap contains CA certificates that the check trusts in addition to public CAs.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="CA",order=82,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:io.kubernetes:ConfigMap"}
	CAConfigMap string `json:"caConfigMap,omitempty"`

	// groups are the groups of facts to examine, such as request or tls. Defaults to all groups except those for timeouts and outlier detection. The tests of timeouts take up to 30 seconds. The tests of outlier detection can make a gateway stop using the echo servers. A check that names an unknown group does not run.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +listType=set
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Groups",order=83
	Groups []string `json:"groups,omitempty"`

	// expect lists the requirements that facts must meet. The check fails if a fact does not meet a requirement. If no fact violates a requirement, but the check cannot determine a required fact, the result is Unknown.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Expectations",order=84
	Expect []EchoExpectation `json:"expect,omitempty"`

	// deadlineSeconds is the maximum duration of a run, in seconds. Defaults to 120.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=600
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deadline",order=88,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`
}

// EchoExpectation is a requirement for a fact.
type EchoExpectation struct {
	// fact is the name of the fact, for example client.address. Several expectations can have the same fact.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fact",order=85,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Fact string `json:"fact"`

	// operator specifies how to compare the fact with the values: In, NotIn, AtLeast, or AtMost. Defaults to In. A check with any other value does not run.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Operator",order=86,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:In","urn:alm:descriptor:com.tectonic.ui:select:NotIn","urn:alm:descriptor:com.tectonic.ui:select:AtLeast","urn:alm:descriptor:com.tectonic.ui:select:AtMost"}
	Operator string `json:"operator,omitempty"`

	// values are the values to compare the fact with, such as TLS 1.3 for tls.version. AtLeast and AtMost require exactly one value. This value is a whole number with an optional unit (Ki, Mi, Gi, ms, s, m, or h), such as 14, 10Mi, or 30s.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Values",order=87
	Values []string `json:"values"`
}

// CheckResult is the result of a check.
type CheckResult string

const (
	// CheckPassed means that the echo servers responded and all expectations were met.
	CheckPassed CheckResult = "Passed"
	// CheckFailed means that no echo server responded, or that an expectation was not met.
	CheckFailed CheckResult = "Failed"
	// CheckUnknown means that the check has no result.
	CheckUnknown CheckResult = "Unknown"
)

// EchoCheckStatus is the observed state of a check.
type EchoCheckStatus struct {
	// name is the name of the check.
	// +required
	Name string `json:"name"`

	// lastConclusiveTime is the time at which the last run with the result Passed or Failed finished.
	// +optional
	LastConclusiveTime *metav1.Time `json:"lastConclusiveTime,omitempty"`

	// result is the result of the check: Passed, Failed, or Unknown.
	// +optional
	Result CheckResult `json:"result,omitempty"`

	// message explains why the check failed or has no result.
	// +optional
	Message string `json:"message,omitempty"`
}
