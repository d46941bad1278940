package v1

// EchoGateway is the configuration of the Gateway API routes.
type EchoGateway struct {
	// enabled specifies whether to create an HTTPRoute. The operator also creates a GRPCRoute and a BackendTLSPolicy if you configure them. The operator does not create Gateways. If you set another field of gateway, set enabled to true or false. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",order=49,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`

	// parentRefs are the Gateways that the routes attach to. If enabled is true, at least one Gateway is required.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateways",order=50,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldDependency:gateway.enabled:true"}
	ParentRefs []EchoGatewayReference `json:"parentRefs,omitempty"`

	// hostnames are the host names that the HTTPRoute matches. The first label can be the wildcard *. Defaults to the host names of the Gateway listeners.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host names",order=54,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldDependency:gateway.enabled:true"}
	Hostnames []string `json:"hostnames,omitempty"`

	// path is the path prefix that the HTTPRoute matches. Defaults to /.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(/|$)`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path",order=55,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:gateway.enabled:true"}
	Path string `json:"path,omitempty"`

	// grpc configures a GRPCRoute, which the operator creates in addition to the HTTPRoute. Requires gateway.hostnames.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="gRPC",order=56,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	GRPC *EchoGatewayGRPC `json:"grpc,omitempty"`

	// backendTLS configures a BackendTLSPolicy, so that Gateways connect to the echo servers over HTTPS. Requires tls.secretName.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backend TLS",order=58,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	BackendTLS *EchoGatewayBackendTLS `json:"backendTLS,omitempty"`

	// annotations lists the annotations to add to the routes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",order=61,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// EchoGatewayReference identifies a Gateway or one of its listeners.
type EchoGatewayReference struct {
	// name is the name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateway",order=51,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`

	// namespace is the namespace of the Gateway. Defaults to the namespace of the Echo.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateway namespace",order=52,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Namespace string `json:"namespace,omitempty"`

	// sectionName is the name of a listener in the Gateway. Defaults to all listeners that accept the route.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Listener",order=53,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	SectionName string `json:"sectionName,omitempty"`
}

// EchoGatewayGRPC is the configuration of the GRPCRoute.
type EchoGatewayGRPC struct {
	// hostnames are the host names that the GRPCRoute matches. These host names must not overlap with the host names of the HTTPRoute.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +listType=atomic
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host names",order=57,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Hostnames []string `json:"hostnames"`
}

// EchoGatewayBackendTLS is the configuration of the BackendTLSPolicy.
type EchoGatewayBackendTLS struct {
	// hostname is the name that Gateways send as SNI. The certificate of the echo servers must be valid for this name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host name",order=59,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Hostname string `json:"hostname"`

	// caConfigMap is the name of a ConfigMap in the same namespace. The key ca.crt of the ConfigMap contains the CA certificates that verify the certificate of the echo servers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="CA",order=60,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	CAConfigMap string `json:"caConfigMap"`
}
