package v1

// EchoResponse is the configuration of the default response.
type EchoResponse struct {
	// statusCode is the HTTP status code of the response. Defaults to 200.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Status code",order=6,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	StatusCode int32 `json:"statusCode,omitempty"`

	// delayMilliseconds is the delay before each response, in milliseconds. Defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=30000
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Delay in milliseconds",order=7,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	DelayMilliseconds int32 `json:"delayMilliseconds,omitempty"`

	// headers are HTTP headers to add to each response.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Headers",order=8
	Headers []EchoHeader `json:"headers,omitempty"`

	// body is the response body. Defaults to a description of the request.
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:Pattern=`^[^\x00]*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Body",order=11,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Body string `json:"body,omitempty"`

	// faults lists the faults to inject into responses, for example to test a gateway's retries and timeouts. The server uses the first fault that applies to the request. The percentage and failures fields of a fault determine whether the fault applies. This field is experimental, so the behavior of faults can change in a minor release.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Faults",order=12
	Faults []EchoFault `json:"faults,omitempty"`
}

// EchoHeader is an HTTP response header.
type EchoHeader struct {
	// name is the name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Header name",order=9,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`

	// value is the value of the header.
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0a-\x1f\x7f]*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Header value",order=10,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Value string `json:"value,omitempty"`
}

// EchoFault is a fault to inject into responses.
type EchoFault struct {
	// percentage is the percentage of requests to apply the fault to. Defaults to 100.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Percentage",order=13,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Percentage int32 `json:"percentage,omitempty"`

	// statusCode is the HTTP status code of the response. Defaults to the status code that the response has without the fault.
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

	// connection specifies how the connection ends. With Reset, the server resets the connection or the HTTP/2 stream instead of sending a response. With Truncate, the server sends half of the response body, and then closes the connection or resets the HTTP/2 stream.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connection",order=17,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Reset","urn:alm:descriptor:com.tectonic.ui:select:Truncate"}
	Connection ConnectionFault `json:"connection,omitempty"`

	// failures is the number of attempts, counted for each request, that get the fault. Later attempts do not get the fault. The X-Request-Id header identifies a request. If this header is missing, the method, host, path, query, and client address identify the request. Each pod counts the attempts that reach it. Defaults to all attempts.
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

// EchoServer is the configuration of the operator's echo server.
type EchoServer struct {
	// controls specifies what requests can change about their own responses. Safe permits the status, the delay, the size, the format, and any header that does not affect caches, proxies, or other users' browsers. Full also permits most other headers, and faults that break the connection. Use Full only on private networks. None permits no changes. With Safe and Full, clients can request so many error statuses that the outlier detection of a gateway or mesh ejects pods. Defaults to Safe.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([A-Z][A-Za-z]*)?$`
	// +kubebuilder:default=Safe
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Controls",order=21,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Safe","urn:alm:descriptor:com.tectonic.ui:select:Full","urn:alm:descriptor:com.tectonic.ui:select:None"}
	Controls Controls `json:"controls,omitempty"`

	// identity specifies whether responses contain the names and addresses of the pod and its node. Defaults to true.
	// +kubebuilder:default=true
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Identity",order=22,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Identity *bool `json:"identity,omitempty"`
}

// Controls specifies what requests can change about their own responses.
type Controls string

const (
	ControlsSafe Controls = "Safe"
	ControlsFull Controls = "Full"
	ControlsNone Controls = "None"
)
