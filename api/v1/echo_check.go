package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EchoCheck is a check that runs on a schedule: it sends requests to a URL that leads to the echo servers, and finds out what the way there, such as an ingress or a gateway, does to them.
type EchoCheck struct {
	// name is the name of the check. The CronJob has the name of the Echo, '-' and this name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name",order=78,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`

	// schedule is when the check runs, in Cron syntax, such as */15 * * * * for each quarter of an hour. The time zone is that of the CronJob controller, mostly UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[^ @=]+( [^ @=]+){4})$')",message="The schedule must have five fields: minute, hour, day of the month, month and day of the week; or be @hourly, @daily, @weekly, @monthly or @yearly."
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule",order=79,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Schedule string `json:"schedule"`

	// url is the URL to which the requests are sent. Defaults to status.externalURL. A URL other than those of the Echo itself requires that the operator allows it (CHECK_URLS).
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/[^\s?#]*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="URL",order=80,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	URL string `json:"url,omitempty"`

	// address is the host name or the IP address to connect to, with or without a port, instead of what DNS says of the host name in the URL. It requires that the operator allows all URLs (CHECK_URLS).
	// +kubebuilder:validation:MaxLength=320
	// +kubebuilder:validation:Pattern=`^[-a-zA-Z0-9._:\[\]]+$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Address",order=81,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Address string `json:"address,omitempty"`

	// caConfigMap is the name of the ConfigMap in the namespace of the Echo that contains, as ca.crt, the certificates of authorities that are trusted in addition to those of browsers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="CA",order=82,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:io.kubernetes:ConfigMap"}
	CAConfigMap string `json:"caConfigMap,omitempty"`

	// groups are the groups of facts to examine, such as request, client, tls, body, response, websocket, grpc, retries, loadBalancing, latency, timeouts and outlierDetection. Defaults to all but timeouts, which takes long, and outlierDetection, which makes pods fail for a while. A check with an unknown group does not run.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +listType=set
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Groups",order=83
	Groups []string `json:"groups,omitempty"`

	// expect lists facts and the values that they must have.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=fact
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Expectations",order=84
	Expect []EchoExpectation `json:"expect,omitempty"`

	// deadlineSeconds is how long a run may take, in seconds. Defaults to 120.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=600
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deadline",order=88,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`
}

// EchoExpectation is the value that a fact must have.
type EchoExpectation struct {
	// fact is the name of a fact, such as client.address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9.]+$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fact",order=85,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Fact string `json:"fact"`

	// value is the value that the fact must have, such as kept, or a bound, such as >=14, <=10Mi or >=30s.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[!-~]([ -~]*[!-~])?$`
	// +kubebuilder:validation:XValidation:rule="!(self.startsWith('>=') || self.startsWith('<=')) || self.matches('^[<>]= *-?[0-9]{1,9}(Ki|Mi|Gi|ms|s)?$')",message="A bound must be >= or <= and a whole number, such as >=14, <=10Mi or >=30s."
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Value",order=86,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Value string `json:"value"`
}

// CheckResult is the result of a check.
type CheckResult string

// The results of checks.
const (
	// CheckPassed means that the echo servers respond, and that all expectations are met.
	CheckPassed CheckResult = "Passed"
	// CheckFailed means that no Echo responds, or that an expectation is not met.
	CheckFailed CheckResult = "Failed"
	// CheckUnknown means that there is no result.
	CheckUnknown CheckResult = "Unknown"
)

// EchoCheckStatus is what the last run of a check found out.
type EchoCheckStatus struct {
	// name is the name of the check.
	// +required
	Name string `json:"name"`

	// lastRunTime is when the last run ended that gave a result.
	// +optional
	LastRunTime *metav1.Time `json:"lastRunTime,omitempty"`

	// result is Passed, Failed or Unknown.
	// +optional
	Result CheckResult `json:"result,omitempty"`

	// message says what failed, or why there is no result.
	// +optional
	Message string `json:"message,omitempty"`
}
