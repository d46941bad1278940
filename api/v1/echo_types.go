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
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="How many echo servers are wanted"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many echo servers answer"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Where the Echo stands, in one word"
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`,description="Where the echo servers answer"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`,description="The image of the echo servers"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="The name must start with a lower-case letter, hold only lower-case letters, digits and '-', end with a letter or a digit, and be at most 63 characters long, because a Service is named after it."
type Echo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +required
	Spec EchoSpec `json:"spec"`

	// status is what the operator last saw.
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

// EchoSpec is what is wanted of an Echo.
type EchoSpec struct {
	// replicas is the number of echo servers. The operator may refuse more than a limit of its own, 20 unless its installer set another.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",order=1,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas"`

	// image is a container image that serves HTTP on the port. Left out, it is the echo server that belongs to the operator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",order=9,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// port is the port on which the containers listen.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=8080
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",order=10,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// env is added to the environment of the containers.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="!self.exists(e, e.name in ['POD_NAME', 'POD_NAMESPACE', 'POD_IP', 'NODE_NAME', 'HOST_IP', 'SERVICE_NAME', 'INGRESS_NAME'])",message="The names POD_NAME, POD_NAMESPACE, POD_IP, NODE_NAME, HOST_IP, SERVICE_NAME and INGRESS_NAME are set by the operator and cannot be given."
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment",order=12,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Env []corev1.EnvVar `json:"env,omitempty"`

	// args are the arguments of the containers, instead of the image's own.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Arguments",order=11,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Args []string `json:"args,omitempty"`

	// imagePullPolicy says when the image is pulled: Always, IfNotPresent or Never. Left out, Kubernetes decides by the image's tag.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",order=13,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:imagePullPolicy"}
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets name the Secrets with which the image is pulled.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull secrets",order=14,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []ImagePullSecret `json:"imagePullSecrets,omitempty"`

	// response is what the operator's own echo server answers by default. Other images ignore it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Answer",order=2
	Response *EchoResponse `json:"response,omitempty"`

	// resources are the compute resources of each container. Given, they replace the default, small requests without limits, as a whole.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",order=5,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// service is how the echo servers are reached.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",order=3
	Service EchoService `json:"service,omitempty,omitzero"`

	// ingress makes the echo servers reachable from outside the cluster under a host name.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ingress",order=4
	Ingress *EchoIngress `json:"ingress,omitempty"`

	// disruptionBudget bounds how many echo servers may be down at once while nodes are maintained.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption budget",order=6
	DisruptionBudget EchoDisruptionBudget `json:"disruptionBudget,omitempty,omitzero"`

	// networkPolicy restricts the network of the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network policy",order=7
	NetworkPolicy *EchoNetworkPolicy `json:"networkPolicy,omitempty"`

	// podSecurityContext is the security of the pods. Given, it replaces the operator's, which is Pod Security restricted, as a whole.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod security context",order=17,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// securityContext is the security of the containers. Given, it replaces the operator's, which is Pod Security restricted, as a whole.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Security context",order=18,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// nodeSelector are the labels of the nodes on which the echo servers may run.
	// +mapType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",order=19,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are the taints of nodes that the echo servers put up with.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",order=16,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity draws the echo servers to nodes and other pods, or keeps them away.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",order=20,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the echo servers. Given, they replace the operator's, an even spread over nodes and zones where possible.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",order=21,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the priority of the pods.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority class",order=15,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// podLabels are added to the labels of the pods.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('app.kubernetes.io/') || k.startsWith('echoes.example.com/'))",message="Labels that begin with app.kubernetes.io/ or echoes.example.com/ are set by the operator and cannot be given."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod labels",order=22,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// podAnnotations are added to the annotations of the pods.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/'))",message="Annotations that begin with echoes.example.com/ are set by the operator and cannot be given."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod annotations",order=23,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// paused leaves everything as it is, but for deletion. The status still speaks.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",order=8,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Paused bool `json:"paused,omitempty"`
}

// ImagePullSecret names a Secret in the Echo's namespace.
type ImagePullSecret struct {
	// name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}

// EchoResponse is what the echo server answers by default.
//
// +kubebuilder:validation:XValidation:rule="!has(self.headers) || self.headers.all(h, !(h.name.lowerAscii() in ['connection', 'content-length', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']))",message="Headers that belong to the connection, such as Connection or Content-Length, cannot be given."
// +kubebuilder:validation:XValidation:rule="!has(self.headers) || has(self.body) && size(self.body) > 0 || self.headers.all(h, h.name.lowerAscii() != 'content-type' || has(h.value) && h.value.matches('^(application/json|application/problem[+]json|application/octet-stream|text/csv|text/plain)( *; *charset=[-0-9A-Za-z]+)?$'))",message="Without a body of your own, the Content-Type can be application/json, application/problem+json, application/octet-stream, text/csv or text/plain: the echo holds what strangers send."
type EchoResponse struct {
	// statusCode is the HTTP status.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Status code",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	StatusCode int32 `json:"statusCode,omitempty"`

	// delayMilliseconds is how long an answer is held back, in milliseconds.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=30000
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Delay in milliseconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	DelayMilliseconds int32 `json:"delayMilliseconds,omitempty"`

	// headers are added to each answer.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Headers"
	Headers []EchoHeader `json:"headers,omitempty"`

	// body is answered instead of the echo.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Body",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Body string `json:"body,omitempty"`
}

// EchoHeader is a header of an HTTP answer.
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

// EchoIngress is the Ingress in front of the Service. OpenShift makes a Route of it.
//
// +kubebuilder:validation:XValidation:rule="!self.enabled || has(self.host)",message="An Ingress that is enabled needs a host."
// +kubebuilder:validation:XValidation:rule="!has(self.tlsSecretName) || self.tls",message="The field tlsSecretName needs tls to be true."
type EchoIngress struct {
	// enabled says whether there is an Ingress.
	// +kubebuilder:default=false
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled,omitempty"`

	// host is the host name under which the echo servers are reached.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Host string `json:"host,omitempty"`

	// path is the path below which requests reach the echo servers.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	// +kubebuilder:default="/"
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	Path string `json:"path,omitempty"`

	// className names the IngressClass. Left out, the cluster's default counts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ingress class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	ClassName string `json:"className,omitempty"`

	// tls says whether the host is served over HTTPS.
	// +kubebuilder:default=false
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.enabled:true"}
	TLS bool `json:"tls,omitempty"`

	// tlsSecretName names the Secret with the certificate. Left out, the router's default certificate counts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret","urn:alm:descriptor:com.tectonic.ui:fieldDependency:ingress.tls:true"}
	TLSSecretName string `json:"tlsSecretName,omitempty"`

	// annotations are added to the Ingress.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/'))",message="Annotations that begin with echoes.example.com/ are set by the operator and cannot be given."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations map[string]string `json:"annotations,omitempty"`
}

// EchoDisruptionBudget is the PodDisruptionBudget of the echo servers.
type EchoDisruptionBudget struct {
	// enabled says whether there is a PodDisruptionBudget.
	// +kubebuilder:default=true
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled *bool `json:"enabled,omitempty"`

	// maxUnavailable is how many echo servers may be down at once.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pods that may be down",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:fieldDependency:disruptionBudget.enabled:true"}
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// EchoNetworkPolicy is the NetworkPolicy of the echo servers.
type EchoNetworkPolicy struct {
	// enabled says whether only the echo servers' ports can be reached, and nothing from them.
	// +kubebuilder:default=false
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled,omitempty"`
}

// EchoService is the Service in front of the echo servers.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",message="The field externalTrafficPolicy needs type NodePort or LoadBalancer."
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.type == 'LoadBalancer'",message="The field loadBalancerClass needs type LoadBalancer."
type EchoService struct {
	// type says from where the Service can be reached.
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +kubebuilder:default=ClusterIP
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is the port of the Service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=80
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// annotations are added to the Service, for instance for a cloud's load balancer.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/'))",message="Annotations that begin with echoes.example.com/ are set by the operator and cannot be given."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations map[string]string `json:"annotations,omitempty"`

	// externalTrafficPolicy says whether traffic from outside stays on the node that it reached, which keeps the client's address.
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="External traffic policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:select:Cluster","urn:alm:descriptor:com.tectonic.ui:select:Local"}
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// loadBalancerClass picks the implementation of the load balancer.
	// +kubebuilder:validation:MinLength=1
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Load balancer class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`
}

// EchoStatus is what the operator last saw of an Echo.
type EchoStatus struct {
	// observedGeneration is the generation of the Echo that this status speaks of.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",order=11,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the conditions up in one word: Pending, Updating, Ready, Warning, Failed or Terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",order=2,xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase string `json:"phase,omitempty"`

	// replicas is the number of echo servers that there are.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods there are",order=5,xDescriptors={"urn:alm:descriptor:text"}
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of echo servers that answer.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready",order=4,xDescriptors={"urn:alm:descriptor:text"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of echo servers that are of the latest kind.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Up to date",order=6,xDescriptors={"urn:alm:descriptor:text"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector finds the pods of the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",order=10,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Selector string `json:"selector,omitempty"`

	// url is where the echo servers answer.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="URL",order=3,xDescriptors={"urn:alm:descriptor:org.w3:link"}
	URL string `json:"url,omitempty"`

	// image is the image of the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image",order=7,xDescriptors={"urn:alm:descriptor:text"}
	Image string `json:"image,omitempty"`

	// companions is the number of pods that have an echo server of this Echo beside them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Companions",order=8,xDescriptors={"urn:alm:descriptor:text"}
	Companions int32 `json:"companions,omitempty"`

	// pods are the names of the pods by their state, Ready, NotReady, Pending, Failed or Terminating, at most 50 of each.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods",order=1,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podStatuses"}
	Pods map[string][]string `json:"pods,omitempty"`

	// nodeProblems is what is wrong with nodes that run pods of the Echo, by the name of the node: Unschedulable, NotReady, MemoryPressure,
	// DiskPressure, PIDPressure, NetworkUnavailable or Deleted. Nodes that are well are left out, and at most 50 are named.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Node problems",order=12,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	NodeProblems map[string][]string `json:"nodeProblems,omitempty"`

	// conditions are Ready, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",order=9,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
