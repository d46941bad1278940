package v1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// EchoService is the configuration of the Service.
type EchoService struct {
	// type determines how the Service is exposed: ClusterIP, NodePort, or LoadBalancer. Defaults to ClusterIP.
	// +kubebuilder:validation:Enum="";ClusterIP;NodePort;LoadBalancer
	// +kubebuilder:default=ClusterIP
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",order=26,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is the HTTP port of the Service. Defaults to 80.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=80
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",order=27,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// httpsPort is the HTTPS port of the Service. The HTTPS port requires tls.secretName, and must differ from the HTTP port. Defaults to 443.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="HTTPS port",order=27,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	HTTPSPort int32 `json:"httpsPort,omitempty"`

	// portName is the name of the HTTP port of the Service. Defaults to http. The HTTPS port is named https.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port name",order=27,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	PortName string `json:"portName,omitempty"`

	// appProtocol is the application protocol of the HTTP port, for example kubernetes.io/h2c for HTTP/2 without TLS. Some service meshes and gateways use this field to choose the protocol.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^(([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == '' || self.indexOf('/') <= 253",message="The DNS name before '/' must be at most 253 characters long."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Application protocol",order=28,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	AppProtocol string `json:"appProtocol,omitempty"`

	// annotations lists the annotations to add to the Service, for example to configure the load balancer of a cloud provider.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",order=30,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations Annotations `json:"annotations,omitempty"`

	// externalTrafficPolicy specifies how nodes route external traffic. Cluster routes to all pods. Local routes only to pods on the node that receives the traffic, and preserves the client address. Defaults to Cluster. Requires type NodePort or LoadBalancer.
	// +kubebuilder:validation:Enum="";Cluster;Local
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="External traffic policy",order=28,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:select:Cluster","urn:alm:descriptor:com.tectonic.ui:select:Local"}
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// loadBalancerClass is the class of the load balancer implementation. Requires type LoadBalancer. Any change of this field recreates a Service of type LoadBalancer, usually with new addresses.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^(([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == '' || self.indexOf('/') <= 253",message="The DNS name before '/' must be at most 253 characters long."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Load balancer class",order=29,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`

	// loadBalancerSourceRanges are the client IP blocks, in CIDR notation, that the load balancer accepts traffic from. Defaults to all clients. Requires type LoadBalancer and a load balancer that supports this field.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[0-9A-Fa-f.:]+/[0-9]{1,3}$')",message="Each range must be an IP block in CIDR notation, such as 10.0.0.0/8 or fd00::/8."
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Source ranges",order=29,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`

	// ipFamilies are the IP families of the Service (IPv4, IPv6, or both), starting with the primary family. Defaults to the families that the cluster and ipFamilyPolicy determine. Changing the primary family or removing this field recreates the Service with new addresses.
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +kubebuilder:validation:XValidation:rule="size(self) < 2 || self[0] != self[1]",message="Each IP family must be specified only once."
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="IP families",order=31,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`

	// ipFamilyPolicy specifies whether the Service has one or two IP families: SingleStack, PreferDualStack (two if the cluster supports them), or RequireDualStack. Defaults to SingleStack. Removing this field recreates the Service with new addresses, unless the value was SingleStack.
	// +kubebuilder:validation:Enum="";SingleStack;PreferDualStack;RequireDualStack
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="IP family policy",order=31,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:select:SingleStack","urn:alm:descriptor:com.tectonic.ui:select:PreferDualStack","urn:alm:descriptor:com.tectonic.ui:select:RequireDualStack"}
	IPFamilyPolicy corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
}

// EchoIngress is the configuration of the Ingress. OpenShift creates a Route for an Ingress.
type EchoIngress struct {
	// enabled specifies whether to create an Ingress. If you set another field of ingress, set enabled to true or false. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",order=41,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`

	// host is the host name of the Ingress. The first label can be the wildcard *. If host is not set, the Ingress matches all host names, provides no URL for status.externalURL, and gets no Route on OpenShift.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^((\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+([.][0-9]+){3}$')",message="The host must be a DNS name, not an IP address."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host",order=42,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Host string `json:"host,omitempty"`

	// path is the request path that the Ingress routes to the echo servers. Defaults to /.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(/|$)`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path",order=43,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Path string `json:"path,omitempty"`

	// pathType determines how path matches: Prefix matches path elements, Exact matches the whole path, and ImplementationSpecific depends on the Ingress controller. Defaults to Prefix. If pathType is ImplementationSpecific, the Ingress provides no URL for status.externalURL. If pathType is Exact, OpenShift creates no Route.
	// +kubebuilder:validation:Enum="";Prefix;Exact;ImplementationSpecific
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path type",order=43,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:select:Prefix","urn:alm:descriptor:com.tectonic.ui:select:Exact","urn:alm:descriptor:com.tectonic.ui:select:ImplementationSpecific"}
	PathType networkingv1.PathType `json:"pathType,omitempty"`

	// className is the name of the IngressClass. Defaults to the default IngressClass of the cluster. Removing this field recreates the Ingress.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ingress class",order=46,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	ClassName string `json:"className,omitempty"`

	// tls configures HTTPS between clients and the Ingress.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",order=44,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	TLS *EchoIngressTLS `json:"tls,omitempty"`

	// annotations lists the annotations to add to the Ingress.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",order=47,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// EchoIngressTLS is the configuration of HTTPS between clients and the Ingress.
type EchoIngressTLS struct {
	// enabled specifies whether the Ingress serves HTTPS. If you set secretName, set enabled to true or false. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS enabled",order=44,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Enabled *bool `json:"enabled,omitempty"`

	// secretName is the name of the Secret in the same namespace that contains the TLS certificate. If secretName is not set, the Ingress controller uses its default certificate, and ingress.host is required.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS secret",order=45,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.tls.enabled:true"}
	SecretName string `json:"secretName,omitempty"`
}

// EchoDisruptionBudget is the configuration of the PodDisruptionBudget.
type EchoDisruptionBudget struct {
	// enabled specifies whether to create a PodDisruptionBudget while replicas is greater than maxUnavailable. Defaults to true.
	// +kubebuilder:default=true
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",order=63,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`

	// maxUnavailable is the maximum number of echo servers that can be unavailable after an eviction. Defaults to 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",order=64,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:fieldDependency:disruptionBudget.enabled:true"}
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// EchoNetworkPolicy is the configuration of the NetworkPolicy.
type EchoNetworkPolicy struct {
	// enabled specifies whether to create a NetworkPolicy. The policy allows ingress only to the ports of the echo servers and companions, including the metrics port, and allows no egress. A NetworkPolicy that denies all traffic does not override this policy. If you set the from field, set enabled to true or false. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",order=71,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`

	// from is a list of peers that can connect to the echo servers and companions: pods, namespaces, or IP blocks, as in a NetworkPolicy. If the list is empty, only pods in the same namespace can connect. In a NetworkPolicy, however, an empty list allows all clients. Include the Ingress controller, Gateway, load balancer, and Prometheus if these clients must connect. To allow all clients, list an empty namespaceSelector {} and the IP blocks 0.0.0.0/0 and ::/0. The policy always allows checks.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allowed peers",order=72,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`
}

// EchoMonitoring is the configuration of the PodMonitor.
type EchoMonitoring struct {
	// enabled specifies whether to create a PodMonitor, so that Prometheus scrapes the echo servers and companions. The operator creates no PodMonitor if the cluster does not serve the PodMonitor API. With images other than the operator's echo server, there is nothing to scrape. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",order=76,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`
}

// EchoTLS is the configuration of HTTPS.
type EchoTLS struct {
	// secretName is the name of a Secret of type kubernetes.io/tls in the same namespace. If secretName is not set, HTTPS is disabled.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",order=33,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName,omitempty"`

	// port is the HTTPS port that the echo servers and companions listen on. Defaults to 8443. The HTTPS port must differ from the HTTP port. With the operator's echo server, the HTTPS port must also differ from the metrics port, which is 9090, or 9091 if the HTTP port is 9090.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="HTTPS port",order=35,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// clientCertificate determines how the echo servers treat client certificates. None requests no certificate. Request asks for a certificate, but rejects no client. Require rejects HTTPS clients whose certificate is missing or cannot be verified with ca.crt in the Secret. HTTP clients need no certificate. Defaults to None.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([A-Z][A-Za-z]*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client certificate",order=34,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:Request","urn:alm:descriptor:com.tectonic.ui:select:Require"}
	ClientCertificate ClientCertificate `json:"clientCertificate,omitempty"`
}

// ClientCertificate specifies whether clients must present a certificate.
type ClientCertificate string

const (
	ClientCertificateNone    ClientCertificate = "None"
	ClientCertificateRequest ClientCertificate = "Request"
	ClientCertificateRequire ClientCertificate = "Require"
)

// CommonMetadata is metadata for all objects and pods of an Echo.
type CommonMetadata struct {
	// labels lists the labels to add to all objects and pods. podLabels take precedence over these labels.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels",order=118,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Labels Labels `json:"labels,omitempty"`

	// annotations lists the annotations to add to all objects and pods. podAnnotations, service.annotations, ingress.annotations, and gateway.annotations take precedence over these annotations.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",order=119,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// Labels are user-defined labels of objects or pods. Their keys and values must follow the Kubernetes rules for labels.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/component', 'app.kubernetes.io/managed-by', 'job-name', 'controller-uid', 'pod-template-hash'] || k.startsWith('echoes.example.com/') || k.startsWith('batch.kubernetes.io/'))",message="The labels app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/component, app.kubernetes.io/managed-by, job-name, controller-uid, and pod-template-hash, and labels with the prefix echoes.example.com/ or batch.kubernetes.io/, are reserved for the operator and for Kubernetes."
// +kubebuilder:validation:XValidation:rule="self.all(k, k.indexOf('/') <= 253 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$'))",message="A label key must have at most 63 letters, digits, '-', '_', or '.', and start and end with a letter or a digit. It can have a DNS name as prefix, such as example.org/team."
type Labels map[string]LabelValue

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// Annotations are user-defined annotations of objects or pods. Their keys must follow the Kubernetes rules for annotations.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/') || k.startsWith('deployment.kubernetes.io/'))",message="Annotations with the prefix echoes.example.com/ or deployment.kubernetes.io/ are reserved for the operator and for Kubernetes."
// +kubebuilder:validation:XValidation:rule="self.all(k, k.indexOf('/') <= 253 && k.matches('^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$'))",message="An annotation key must have at most 63 letters, digits, '-', '_', or '.', and start and end with a letter or a digit. It can have a DNS name as prefix, such as example.org/team."
type Annotations map[string]string
