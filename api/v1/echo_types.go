package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Echo is a set of HTTP echo servers behind a Service.
//
// +operator-sdk:csv:customresourcedefinitions:displayName="Echo",resources={{Deployment,v1,""},{ReplicaSet,v1,""},{Pod,v1,""},{Service,v1,""},{Ingress,v1,""},{NetworkPolicy,v1,""},{PodDisruptionBudget,v1,""},{HorizontalPodAutoscaler,v2,""},{Event,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=echoes,singular=echo,shortName=echo
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Number of echo servers to run"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Number of echo servers that are ready"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Summary of the conditions in one word"
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`,description="URL of the echo servers"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`,description="Container image of the echo servers"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="The name must start with a lowercase letter, contain only lowercase letters, digits and '-', end with a letter or a digit, and be at most 63 characters long, because the Service has the same name."
type Echo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the Echo.
	// +required
	Spec EchoSpec `json:"spec"`

	// status is the observed state of the Echo. The operator updates it.
	// +optional
	Status EchoStatus `json:"status,omitempty,omitzero"`
}

// EchoList is a list of Echoes.
//
// +kubebuilder:object:root=true
type EchoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Echo `json:"items"`
}

// EchoSpec is the desired state of an Echo.
type EchoSpec struct {
	// replicas is the number of echo servers to run. An Echo that exceeds the limit of the operator (MAX_REPLICAS, 20 by default) fails with the reason InvalidSpec.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",order=1,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas"`

	// image is the container image to run. It must listen on port. Defaults to the echo server image of the operator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",order=9,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// port is the port on which the containers listen. Defaults to 8080.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=8080
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",order=10,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// env is a list of environment variables to set in the containers. A variable replaces one of the same name that the operator sets.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="!self.exists(e, e.name in ['POD_NAME', 'POD_NAMESPACE', 'POD_IP', 'NODE_NAME', 'HOST_IP', 'SERVICE_NAME', 'INGRESS_NAME'])",message="The names POD_NAME, POD_NAMESPACE, POD_IP, NODE_NAME, HOST_IP, SERVICE_NAME and INGRESS_NAME are set by the operator and must not be specified."
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment variables",order=12,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Env []corev1.EnvVar `json:"env,omitempty"`

	// args are the arguments of the containers. They replace the arguments of the image.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Arguments",order=11,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Args []string `json:"args,omitempty"`

	// imagePullPolicy specifies when the image is pulled: Always, IfNotPresent or Never. If it is not set, Kubernetes chooses by the tag of the image.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",order=13,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:imagePullPolicy"}
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets is a list of Secrets in the namespace of the Echo that contain the credentials to pull the image.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull secrets",order=14,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []ImagePullSecret `json:"imagePullSecrets,omitempty"`

	// response is the default response of the operator's echo server. Other images ignore it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Response",order=2
	Response *EchoResponse `json:"response,omitempty"`

	// resources are the compute resource requests and limits of each container. They replace the default, small requests without limits, as a whole.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",order=5,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// service configures the Service of the echo servers.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",order=3
	Service EchoService `json:"service,omitempty,omitzero"`

	// ingress configures an Ingress that exposes the echo servers outside the cluster under a host name.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ingress",order=4
	Ingress *EchoIngress `json:"ingress,omitempty"`

	// disruptionBudget configures the PodDisruptionBudget, which limits how many echo servers can be evicted at the same time.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod disruption budget",order=6
	DisruptionBudget EchoDisruptionBudget `json:"disruptionBudget,omitempty,omitzero"`

	// networkPolicy configures a NetworkPolicy that restricts the network traffic of the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network policy",order=7
	NetworkPolicy *EchoNetworkPolicy `json:"networkPolicy,omitempty"`

	// podSecurityContext is the security context of the pods. It replaces the default, which meets the Pod Security Standard restricted, as a whole.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod security context",order=17,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// securityContext is the security context of the containers. It replaces the default, which meets the Pod Security Standard restricted, as a whole.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Security context",order=18,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// nodeSelector is a map of labels that a node must have to run the echo servers.
	// +mapType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",order=19,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are the taints of nodes that the echo servers tolerate.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",order=16,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity is the node affinity, pod affinity and pod anti-affinity of the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",order=20,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints specify how the echo servers are spread. They replace the default, an even spread over nodes and zones where possible.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",order=21,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the name of the PriorityClass of the pods.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority class",order=15,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// podLabels are labels to add to the pods.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('app.kubernetes.io/') || k.startsWith('echoes.example.com/'))",message="Labels with the prefix app.kubernetes.io/ or echoes.example.com/ are set by the operator and must not be specified."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod labels",order=22,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// podAnnotations are annotations to add to the pods, companions included.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/'))",message="Annotations with the prefix echoes.example.com/ are set by the operator and must not be specified."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod annotations",order=23,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// paused stops the operator from changing the objects of the Echo. The status is still updated, and the Echo can still be deleted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",order=8,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Paused bool `json:"paused,omitempty"`
}

// ImagePullSecret references a Secret in the namespace of the Echo.
type ImagePullSecret struct {
	// name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}

// EchoResponse is the default response of the echo server.
//
// +kubebuilder:validation:XValidation:rule="!has(self.headers) || self.headers.all(h, !(h.name.lowerAscii() in ['connection', 'content-length', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']))",message="Connection headers, such as Connection or Content-Length, must not be specified."
// +kubebuilder:validation:XValidation:rule="!has(self.headers) || has(self.body) && size(self.body) > 0 || self.headers.all(h, h.name.lowerAscii() != 'content-type' || has(h.value) && h.value.matches('^(application/json|application/problem[+]json|application/octet-stream|text/csv|text/plain)( *; *charset=[-0-9A-Za-z]+)?$'))",message="If body is not set, the Content-Type must be application/json, application/problem+json, application/octet-stream, text/csv or text/plain, because the response contains data that clients send."
type EchoResponse struct {
	// statusCode is the HTTP status code. Defaults to 200.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Status code",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	StatusCode int32 `json:"statusCode,omitempty"`

	// delayMilliseconds is the delay before each response, in milliseconds. Defaults to no delay.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=30000
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Delay in milliseconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	DelayMilliseconds int32 `json:"delayMilliseconds,omitempty"`

	// headers are HTTP headers to add to each response.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Headers"
	Headers []EchoHeader `json:"headers,omitempty"`

	// body is the response body. Defaults to a description of the request.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Body",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Body string `json:"body,omitempty"`
}

// EchoHeader is a header of an HTTP response.
type EchoHeader struct {
	// name is the name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	// +required
	Name string `json:"name"`

	// value is the value of the header.
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0a-\x1f\x7f]*$`
	// +optional
	Value string `json:"value,omitempty"`
}

// EchoIngress is the configuration of the Ingress. OpenShift creates a Route for it.
//
// +kubebuilder:validation:XValidation:rule="!self.enabled || has(self.host)",message="The field host is required when the Ingress is enabled."
// +kubebuilder:validation:XValidation:rule="!has(self.tlsSecretName) || self.tls",message="The field tlsSecretName requires tls to be true."
type EchoIngress struct {
	// enabled specifies whether to create an Ingress. Defaults to false.
	// +kubebuilder:default=false
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled,omitempty"`

	// host is the host name of the Ingress. It is required when the Ingress is enabled.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Host string `json:"host,omitempty"`

	// path is the path prefix of the requests that the Ingress sends to the echo servers. Defaults to /.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	// +kubebuilder:default="/"
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Path string `json:"path,omitempty"`

	// className is the name of the IngressClass. Defaults to the default IngressClass of the cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ingress class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	ClassName string `json:"className,omitempty"`

	// tls specifies whether the host is served over HTTPS. Defaults to false.
	// +kubebuilder:default=false
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	TLS bool `json:"tls,omitempty"`

	// tlsSecretName is the name of the Secret that contains the TLS certificate. Defaults to the default certificate of the Ingress controller.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.tls:true"}
	TLSSecretName string `json:"tlsSecretName,omitempty"`

	// annotations are annotations to add to the Ingress.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/'))",message="Annotations with the prefix echoes.example.com/ are set by the operator and must not be specified."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations map[string]string `json:"annotations,omitempty"`
}

// EchoDisruptionBudget is the configuration of the PodDisruptionBudget.
type EchoDisruptionBudget struct {
	// enabled specifies whether to create a PodDisruptionBudget. Defaults to true.
	// +kubebuilder:default=true
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`

	// maxUnavailable is the maximum number of echo servers that can be unavailable during an eviction. Defaults to 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:fieldDependency:disruptionBudget.enabled:true"}
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// EchoNetworkPolicy is the configuration of the NetworkPolicy.
type EchoNetworkPolicy struct {
	// enabled specifies whether to create a NetworkPolicy that allows only connections to the HTTP and metrics ports, and none from the pods. Defaults to false.
	// +kubebuilder:default=false
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled,omitempty"`
}

// EchoService is the configuration of the Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",message="The field externalTrafficPolicy requires type NodePort or LoadBalancer."
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.type == 'LoadBalancer'",message="The field loadBalancerClass requires type LoadBalancer."
type EchoService struct {
	// type is the type of the Service: ClusterIP, NodePort or LoadBalancer. Defaults to ClusterIP.
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +kubebuilder:default=ClusterIP
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is the port of the Service. Defaults to 80.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=80
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// annotations are annotations to add to the Service, for example for the load balancer of a cloud provider.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/'))",message="Annotations with the prefix echoes.example.com/ are set by the operator and must not be specified."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations map[string]string `json:"annotations,omitempty"`

	// externalTrafficPolicy specifies where nodes send external traffic: Cluster to all pods, Local to pods on the same node, which preserves the client address.
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="External traffic policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:select:Cluster","urn:alm:descriptor:com.tectonic.ui:select:Local"}
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// loadBalancerClass is the class of the load balancer implementation. It requires the type LoadBalancer.
	// +kubebuilder:validation:MinLength=1
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Load balancer class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`
}

// EchoStatus is the observed state of an Echo.
type EchoStatus struct {
	// observedGeneration is the generation of the Echo that this status describes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",order=11,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase summarizes the conditions in one word: Pending, Updating, Ready, Warning, Failed or Terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",order=2,xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase string `json:"phase,omitempty"`

	// replicas is the current number of echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Current replicas",order=5,xDescriptors={"urn:alm:descriptor:text"}
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of echo servers that are ready.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",order=4,xDescriptors={"urn:alm:descriptor:text"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of echo servers that are up to date with the spec.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated replicas",order=6,xDescriptors={"urn:alm:descriptor:text"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector is the label selector of the echo server pods. The scale subresource uses it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",order=10,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Selector string `json:"selector,omitempty"`

	// url is the URL of the echo servers: that of the Ingress if it is enabled, otherwise that of the Service.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="URL",order=3,xDescriptors={"urn:alm:descriptor:org.w3:link"}
	URL string `json:"url,omitempty"`

	// image is the container image of the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image",order=7,xDescriptors={"urn:alm:descriptor:text"}
	Image string `json:"image,omitempty"`

	// companions is the number of companion pods of this Echo.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Companions",order=8,xDescriptors={"urn:alm:descriptor:text"}
	Companions int32 `json:"companions,omitempty"`

	// pods lists the names of the pods by state: Ready, NotReady, Pending, Failed or Terminating. At most 50 are listed for each state.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods",order=1,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podStatuses"}
	Pods map[string][]string `json:"pods,omitempty"`

	// nodeProblems lists the problems of nodes that run pods of the Echo, by the name of the node: Unschedulable, NotReady, MemoryPressure,
	// DiskPressure, PIDPressure, NetworkUnavailable or Deleted. Only nodes with problems are listed, at most 50.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Node problems",order=12,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	NodeProblems map[string][]string `json:"nodeProblems,omitempty"`

	// conditions are the conditions of the Echo: Ready, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",order=9,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
