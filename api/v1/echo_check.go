package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EchoCheck tests the network path to the echo servers on a schedule. It reports how proxies in the path, such as an ingress or a gateway, handle requests.
type EchoCheck struct {
	// name is the name of the check. The name of its CronJob consists of the Echo's name, '-', and the check's name. If the CronJob name is too long, it is shortened.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name",order=78,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`

	// schedule is the schedule in Cron format, for example */15 * * * * for every 15 minutes. By default, it uses the time zone of the kube-controller-manager, usually UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[^ \t@=]+([ \t]+[^ \t@=]+){4})$')",message="The schedule must have five fields (minute, hour, day of month, month, day of week), or be @hourly, @daily, @weekly, @monthly, or @yearly."
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule",order=79,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Schedule string `json:"schedule"`

	// url is the URL to send requests to. Defaults to status.externalURL. If the URL is not one of the Echo's own, the operator must allow all URLs (CHECK_URLS).
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/[^\s?#]*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="URL",order=80,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	URL string `json:"url,omitempty"`

	// address is the host name or IP address to connect to, optionally with a port. Defaults to the host and port in the URL. If address is set, the operator must allow all URLs (CHECK_URLS).
	// +kubebuilder:validation:MaxLength=320
	// +kubebuilder:validation:Pattern=`^[-a-zA-Z0-9._:\[\]]+$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Address",order=81,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Address string `json:"address,omitempty"`

	// caConfigMap is the name of a ConfigMap in the same namespace. Its key ca.crt contains CA certificates to trust in addition to public CAs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="CA",order=82,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:io.kubernetes:ConfigMap"}
	CAConfigMap string `json:"caConfigMap,omitempty"`

	// groups are the groups of facts to examine, such as request or tls. Defaults to the groups that are quick and do not disrupt the echo servers. A check with an unknown group does not run.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +listType=set
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Groups",order=83
	Groups []string `json:"groups,omitempty"`

	// expect lists the facts to verify and their required values.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=fact
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

// EchoExpectation is the required value of a fact.
type EchoExpectation struct {
	// fact is the name of the fact, for example client.address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9.]+$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fact",order=85,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Fact string `json:"fact"`

	// value is the required value, such as kept, or a bound, such as >=14, <=10Mi, or >=30s.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[!-~]([ -~]*[!-~])?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^=?[<>]') || self.matches('^[<>]= *-?[0-9]{1,9}(Ki|Mi|Gi|ms|s|m|h)?$')",message="A bound must be >= or <= followed by a whole number and an optional unit, such as >=14, <=10Mi, or >=30s."
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Value",order=86,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Value string `json:"value"`
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

	// lastRunTime is the time when the last conclusive run finished.
	// +optional
	LastRunTime *metav1.Time `json:"lastRunTime,omitempty"`

	// result is the result of the check: Passed, Failed, or Unknown.
	// +optional
	Result CheckResult `json:"result,omitempty"`

	// message explains why the check failed or has no result.
	// +optional
	Message string `json:"message,omitempty"`
}
