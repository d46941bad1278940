package v1

// CommonMetadata is metadata for all objects and pods of an Echo.
type CommonMetadata struct {
	// labels are labels to add. podLabels take precedence.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels",order=118,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Labels Labels `json:"labels,omitempty"`

	// annotations are annotations to add. podAnnotations, service.annotations, ingress.annotations, and gateway.annotations take precedence.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",order=119,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"}
	Annotations Annotations `json:"annotations,omitempty"`
}

// Labels are user-defined labels of objects or pods. Their keys and values follow the same rules as in Kubernetes.
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

// Annotations are user-defined annotations of objects or pods. Their keys follow the same rules as in Kubernetes.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('echoes.example.com/') || k.startsWith('deployment.kubernetes.io/'))",message="Annotations with the prefix echoes.example.com/ or deployment.kubernetes.io/ are reserved for the operator and for Kubernetes."
// +kubebuilder:validation:XValidation:rule="self.all(k, k.indexOf('/') <= 253 && k.matches('^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$'))",message="An annotation key must have at most 63 letters, digits, '-', '_', or '.', and start and end with a letter or a digit. It can have a DNS name as prefix, such as example.org/team."
type Annotations map[string]string
