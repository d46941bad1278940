package v1

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The OpenShift console lists columns regardless of their priority, and truncates the headings next to columns with long values.

// Echo is a set of HTTP echo servers behind a Service. Each server responds with the request that it received. Use an Echo to see how an ingress, a gateway, a service mesh, or a load balancer changes requests, or use an Echo as a backend that is known to work.
//
// +operator-sdk:csv:customresourcedefinitions:displayName="Echo",resources={{Deployment,v1,""},{ReplicaSet,v1,""},{CronJob,v1,""},{Job,v1,""},{Pod,v1,""},{Service,v1,""},{PodDisruptionBudget,v1,""},{Ingress,v1,"ingresses.networking.k8s.io"},{NetworkPolicy,v1,""},{Event,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=echoes,singular=echo
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Desired number of echo servers"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Number of ready echo servers"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Summary of the conditions in one word"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="The name must have at most 63 lowercase letters, digits, or '-', start with a letter, and end with a letter or a digit. The Service has the same name.",fieldPath=".metadata.name"
type Echo struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the desired state of the Echo. If the API server accepts a spec that does not meet a requirement, the Echo fails with the reason InvalidSpec, and the operator changes no objects of the Echo except CronJobs and the PodMonitor.
	// +required
	Spec EchoSpec `json:"spec"`

	// status is the most recently observed state of the Echo. The operator sets the status.
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

// EchoSpec defines the desired state of an Echo.
type EchoSpec struct {
	// replicas is the desired number of echo servers. Defaults to 1. Omit this field if an autoscaler sets it. By default, the operator allows at most 20 echo servers. An administrator can set another limit, of at most 1000, with the operator's environment variable MAX_REPLICAS.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",order=1,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the container image of the echo servers and companions. A companion is an echo server that the operator runs on the node of a pod with the label echoes.example.com/companion. The container must listen on the port that the port field specifies. Defaults to the operator's echo server image.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",order=90,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// port is the port that the echo servers and companions listen on. Defaults to 8080.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=8080
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",order=91,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// env is a list of environment variables to set in the echo servers and companions. These variables take precedence over the variables that the operator sets. If you replace ECHO_POD_NAMESPACE or ECHO_SERVICE_NAME, checks fail.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self.all(e, size(e.name) > 0 && size(e.name) + (has(e.value) ? size(e.value) : 0) <= 32766)",message="A variable must have a name. Its name and value must be at most 32766 characters long in total."
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment variables",order=93,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Env []corev1.EnvVar `json:"env,omitempty"`

	// args are the arguments to the entrypoint of the echo servers and companions. Defaults to the CMD of the image.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=32767
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Arguments",order=92,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Args []string `json:"args,omitempty"`

	// imagePullPolicy specifies when to pull the image of the echo servers and companions: Always, IfNotPresent, or Never. Defaults to Always if the tag is latest, or if there is no tag and no digest, and to IfNotPresent otherwise.
	// +kubebuilder:validation:Enum="";Always;IfNotPresent;Never
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",order=94,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:select:Always","urn:alm:descriptor:com.tectonic.ui:select:IfNotPresent","urn:alm:descriptor:com.tectonic.ui:select:Never"}
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets is a list of Secrets in the same namespace to use for pulling the images of all pods, including companions and checks.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull secrets",order=95,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []ImagePullSecret `json:"imagePullSecrets,omitempty"`

	// response configures the default response of the operator's echo server. Other images ignore this field.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Response",order=5
	Response *EchoResponse `json:"response,omitempty"`

	// server configures the operator's echo server. Other images ignore this field.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Server",order=20
	Server EchoServer `json:"server,omitempty,omitzero"`

	// resources are the compute resource requests and limits of each echo server and companion. From this field, checks use only the CPU limit. Defaults to small requests. The default for the operator's echo server also has a memory limit. Setting this field replaces the whole default.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",order=66,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// service configures the Service of the echo servers.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",order=25
	Service EchoService `json:"service,omitempty,omitzero"`

	// tls configures HTTPS in addition to HTTP. The operator's echo server reloads a renewed certificate without a restart. Other images must serve HTTPS on tls.port. The operator mounts the Secret with the certificate at /etc/echo-server/tls.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",order=32
	TLS *EchoTLS `json:"tls,omitempty"`

	// ingress configures an Ingress that exposes the echo servers outside the cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ingress",order=40
	Ingress *EchoIngress `json:"ingress,omitempty"`

	// gateway configures Gateway API routes to the echo servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateway",order=48
	Gateway *EchoGateway `json:"gateway,omitempty"`

	// disruptionBudget configures the PodDisruptionBudget, which limits voluntary disruptions of the echo servers.
	// +kubebuilder:default={}
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod disruption budget",order=62
	DisruptionBudget EchoDisruptionBudget `json:"disruptionBudget,omitempty,omitzero"`

	// networkPolicy configures a NetworkPolicy that restricts the network traffic of the echo servers and companions.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network policy",order=70
	NetworkPolicy *EchoNetworkPolicy `json:"networkPolicy,omitempty"`

	// monitoring configures the collection of metrics by Prometheus.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Monitoring",order=75
	Monitoring *EchoMonitoring `json:"monitoring,omitempty"`

	// checks test the network path to the echo servers on a schedule. The operator creates a CronJob for each check. Checks require the operator's echo server. This field is experimental, so the fields, the examined facts, and the results of checks can change in a minor release. A check that is not valid does not run, and its status explains why.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Checks",order=77
	Checks []EchoCheck `json:"checks,omitempty"`

	// podSecurityContext is the security context of the echo server pods and companions. The default meets the restricted Pod Security Standard. Setting this field replaces the whole default. The pods must meet the Pod Security Standard that an administrator sets with the operator's environment variable POD_SECURITY. POD_SECURITY defaults to baseline.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod security context",order=110,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// securityContext is the security context of the echo server and companion containers. The default meets the restricted Pod Security Standard. Setting this field replaces the whole default. The pods must meet the Pod Security Standard that an administrator sets with the operator's environment variable POD_SECURITY. POD_SECURITY defaults to baseline.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Security context",order=111,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// nodeSelector specifies the labels that a node must have to run the echo servers and checks. Each companion runs on the node of the labeled pod. For its own images, the operator adds kubernetes.io/os=linux if the label kubernetes.io/os is not specified.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.indexOf('/') <= 253 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$'))",message="A label key must have at most 63 letters, digits, '-', '_', or '.', and start and end with a letter or a digit. It can have a DNS name as prefix, such as example.org/team."
	// +mapType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",order=112,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations are the node taints that the echo servers and checks tolerate.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",order=98,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity specifies the node affinity, pod affinity, and pod anti-affinity of the echo servers. Checks have the same node affinity.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",order=113,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints specify how the echo servers spread across topology domains. Defaults to the constraints in the scheduler's configuration. By default, the scheduler spreads the pods of each revision across nodes and zones where possible.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",order=114,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the name of the PriorityClass of the echo servers and checks.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority class",order=97,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:text"}
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// serviceAccountName is the name of the ServiceAccount that all pods use, including companions and checks. The ServiceAccount identifies the pods, for example in a service mesh. On OpenShift, the ServiceAccount determines the security context constraints of the pods. The ServiceAccount's token is not mounted. Defaults to the default ServiceAccount of the namespace.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="The name of a ServiceAccount must contain only lowercase letters, digits, '-', and '.', and start and end with a letter or a digit."
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service account",order=99,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:io.kubernetes:ServiceAccount"}
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// podLabels are labels to add to the echo server pods. Companions do not get these labels, so Services and policies that select these labels do not select companions. To label companions too, use commonMetadata.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod labels",order=115,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodLabels Labels `json:"podLabels,omitempty"`

	// podAnnotations are annotations to add to the pods of echo servers and companions. To annotate checks too, use commonMetadata.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod annotations",order=116,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	PodAnnotations Annotations `json:"podAnnotations,omitempty"`

	// commonMetadata is metadata to add to all objects and pods of the Echo, including companions and checks. Changing this field replaces the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Common metadata",order=117,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	CommonMetadata *CommonMetadata `json:"commonMetadata,omitempty"`

	// paused specifies whether the operator stops changing the objects of the Echo. The operator still updates the status of a paused Echo, and you can still delete the Echo. Defaults to false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",order=89,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Paused bool `json:"paused,omitempty"`
}

// DesiredReplicas returns the number of echo servers to run.
func (s *EchoSpec) DesiredReplicas() int32 {
	return *cmp.Or(s.Replicas, new(int32(1))) // the schema's default, for Echoes that the API server has not stored
}

// ImagePullSecret references a Secret in the namespace of the Echo.
type ImagePullSecret struct {
	// name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pull secret",order=96,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}

const (
	// Finalizer blocks the deletion of an Echo until its last pod is gone.
	Finalizer = "echoes.example.com/finalizer"

	// AppliedHashAnnotation is an annotation on companions and check pods. The value is a hash of the applied configuration. The operator
	// replaces companions with an outdated hash, because pods are immutable. The operator ignores results of check pods with an outdated hash.
	AppliedHashAnnotation = "echoes.example.com/applied-hash"

	// CompanionLabel is the label of a pod that requests a companion. The value is the name of an Echo in the same namespace.
	CompanionLabel = "echoes.example.com/companion"

	// CheckLabel is the label of check pods. The value is the name of the check.
	CheckLabel = "echoes.example.com/check"
)
