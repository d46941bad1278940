package v1

// EchoFault is a fault to inject into responses.
//
// +kubebuilder:validation:XValidation:rule="has(self.statusCode) || has(self.connection) || has(self.delayMilliseconds) && self.delayMilliseconds > 0 || has(self.maxDelayMilliseconds) && self.maxDelayMilliseconds > 0",message="A fault requires statusCode, delayMilliseconds, maxDelayMilliseconds, or connection."
// +kubebuilder:validation:XValidation:rule="!has(self.maxDelayMilliseconds) || !has(self.delayMilliseconds) || self.maxDelayMilliseconds >= self.delayMilliseconds",message="The field maxDelayMilliseconds must not be less than delayMilliseconds."
// +kubebuilder:validation:XValidation:rule="!has(self.statusCode) || !has(self.connection) || self.connection != 'Reset'",message="The field statusCode must not be specified with connection Reset, which sends no response."
type EchoFault struct {
	// percentage is the percentage of requests to apply the fault to. Defaults to 100.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Percentage",order=13,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Percentage int32 `json:"percentage,omitempty"`

	// statusCode is the HTTP status code of the response.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Status code of the fault",order=14,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	StatusCode int32 `json:"statusCode,omitempty"`

	// delayMilliseconds is the delay in milliseconds before the response, or the minimum delay if maxDelayMilliseconds is set. Defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=30000
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Delay of the fault in milliseconds",order=15,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	DelayMilliseconds int32 `json:"delayMilliseconds,omitempty"`

	// maxDelayMilliseconds is the maximum delay in milliseconds before the response. Each delay is random between delayMilliseconds and maxDelayMilliseconds. Defaults to delayMilliseconds.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=30000
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum delay in milliseconds",order=16,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MaxDelayMilliseconds int32 `json:"maxDelayMilliseconds,omitempty"`

	// connection specifies how the connection ends. Reset sends a TCP reset instead of a response. Truncate sends half of the response and then closes the connection.
	// +kubebuilder:validation:Enum=Reset;Truncate
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connection",order=17,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Reset","urn:alm:descriptor:com.tectonic.ui:select:Truncate"}
	Connection ConnectionFault `json:"connection,omitempty"`

	// failures is the number of times that the fault applies to the same request. Later attempts succeed. Defaults to all attempts.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Failures before success",order=18,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Failures int32 `json:"failures,omitempty"`
}

// ConnectionFault specifies how a connection ends.
type ConnectionFault string

const (
	ConnectionReset    ConnectionFault = "Reset"
	ConnectionTruncate ConnectionFault = "Truncate"
)
