package v1

// EchoGateway is the configuration of the routes by which gateways send requests to the echo servers.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.parentRefs) && size(self.parentRefs) > 0",message="The field parentRefs is required when the gateway is enabled."
// +kubebuilder:validation:XValidation:rule="!has(self.grpc) || has(self.hostnames) && size(self.hostnames) > 0",message="The field hostnames is required beside grpc: without host names, the HTTPRoute would match the host names of the GRPCRoute, too.",fieldPath=".hostnames"
type EchoGateway struct {
	// enabled specifies whether to create an HTTPRoute of Gateway API. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",order=49
	Enabled bool `json:"enabled,omitempty"`

	// parentRefs are the Gateways that send requests to the echo servers. At least one is required when the gateway is enabled.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.filter(b, a.name == b.name && (has(a.__namespace__) ? a.__namespace__ : '') == (has(b.__namespace__) ? b.__namespace__ : '') && (!has(a.sectionName) || !has(b.sectionName) || a.sectionName == b.sectionName)).size() == 1)",message="Two references to the same Gateway must have different sectionNames, as the Gateway API requires."
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateways",order=50,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldDependency:gateway.enabled:true"}
	ParentRefs []EchoGatewayReference `json:"parentRefs,omitempty"`

	// hostnames are the host names of the HTTPRoute. The first label can be * for all. Defaults to those of the listeners of the Gateways.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host names",order=54,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldDependency:gateway.enabled:true"}
	Hostnames []string `json:"hostnames,omitempty"`

	// path is the path prefix of the requests that the HTTPRoute sends to the echo servers. Defaults to /.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/([-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('//|/[.][.]?(/|$)|%2[fF]|#')",message="The path must contain none of //, /./, /../, %2f and #, and must not end with /. or /.., as the Gateway API requires."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path",order=55,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:gateway.enabled:true"}
	Path string `json:"path,omitempty"`

	// grpc configures a GRPCRoute in addition to the HTTPRoute.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="gRPC",order=56,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	GRPC *EchoGatewayGRPC `json:"grpc,omitempty"`

	// backendTLS configures a BackendTLSPolicy, by which the Gateways connect to the echo servers over HTTPS. It requires spec.tls.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backend TLS",order=58,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	BackendTLS *EchoGatewayBackendTLS `json:"backendTLS,omitempty"`

	// annotations are annotations to add to the routes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",order=61,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// EchoGatewayReference references a Gateway, or one of its listeners.
type EchoGatewayReference struct {
	// name is the name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateway",order=51,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`

	// namespace is the namespace of the Gateway. Defaults to the namespace of the Echo.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateway namespace",order=52,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Namespace string `json:"namespace,omitempty"`

	// sectionName is the name of a listener of the Gateway. Defaults to all listeners that accept the route.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Listener",order=53,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	SectionName string `json:"sectionName,omitempty"`
}

// EchoGatewayGRPC is the configuration of the GRPCRoute.
type EchoGatewayGRPC struct {
	// hostnames are the host names of the GRPCRoute. They must not overlap those of the HTTPRoute.
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

// EchoGatewayBackendTLS is the configuration of HTTPS between the Gateways and the echo servers.
type EchoGatewayBackendTLS struct {
	// hostname is the name that the certificate of the echo servers must have, and that the Gateways send as SNI.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host name",order=59,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Hostname string `json:"hostname"`

	// caConfigMap is the name of the ConfigMap in the namespace of the Echo that contains, as ca.crt, the certificates of the authorities that verify that certificate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="CA",order=60,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	CAConfigMap string `json:"caConfigMap"`
}
