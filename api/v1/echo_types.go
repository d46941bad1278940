package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Echo is a set of HTTP echo servers behind a Service.
//
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
	Replicas int32 `json:"replicas"`

	// image is a container image that serves HTTP on the port. Left out, it is the echo server that belongs to the operator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +optional
	Image string `json:"image,omitempty"`

	// port is the port on which the containers listen.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=8080
	// +optional
	Port int32 `json:"port,omitempty"`

	// env is added to the environment of the containers.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="!self.exists(e, e.name in ['POD_NAME', 'POD_NAMESPACE', 'POD_IP', 'NODE_NAME', 'HOST_IP', 'SERVICE_NAME', 'INGRESS_NAME'])",message="The names POD_NAME, POD_NAMESPACE, POD_IP, NODE_NAME, HOST_IP, SERVICE_NAME and INGRESS_NAME are set by the operator and cannot be given."
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// resources are the compute resources of each container. Given, they replace the default, small requests without limits, as a whole.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// service is how the echo servers are reached.
	// +kubebuilder:default={}
	// +optional
	Service EchoService `json:"service,omitempty,omitzero"`
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
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is the port of the Service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=80
	// +optional
	Port int32 `json:"port,omitempty"`

	// annotations are added to the Service, for instance for a cloud's load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// externalTrafficPolicy says whether traffic from outside stays on the node that it reached, which keeps the client's address.
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// loadBalancerClass picks the implementation of the load balancer.
	// +kubebuilder:validation:MinLength=1
	// +optional
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`
}

// EchoStatus is what the operator last saw of an Echo.
type EchoStatus struct {
	// observedGeneration is the generation of the Echo that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the conditions up in one word: Pending, Updating, Ready, Warning, Failed or Terminating.
	// +optional
	Phase string `json:"phase,omitempty"`

	// replicas is the number of echo servers that there are.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of echo servers that answer.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of echo servers that are of the latest kind.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector finds the pods of the echo servers.
	// +optional
	Selector string `json:"selector,omitempty"`

	// url is where the echo servers answer.
	// +optional
	URL string `json:"url,omitempty"`

	// image is the image of the echo servers.
	// +optional
	Image string `json:"image,omitempty"`

	// conditions are Ready, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
