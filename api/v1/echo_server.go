package v1

// EchoServer is the configuration of the operator's echo server.
type EchoServer struct {
	// controls specifies what requests can change about their own responses. Safe permits changes that do not affect caches, proxies, or other users' browsers. Full permits all changes and is for private networks only. None permits no changes. Defaults to Safe.
	// +kubebuilder:validation:Enum=Safe;Full;None
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
