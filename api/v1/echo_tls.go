package v1

// EchoTLS is the configuration of HTTPS.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretName) || !has(self.port) && !has(self.servicePort) && (!has(self.clientCertificate) || self.clientCertificate == 'None')",message="The fields port, servicePort, and clientCertificate require secretName."
type EchoTLS struct {
	// secretName is the name of a Secret of type kubernetes.io/tls in the same namespace. If not set, HTTPS is disabled.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",order=33,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName,omitempty"`

	// port is the HTTPS port that the containers listen on. Defaults to 8443.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="HTTPS port",order=35,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// servicePort is the HTTPS port of the Service. Defaults to 443.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="HTTPS port of the Service",order=36,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced","urn:alm:descriptor:com.tectonic.ui:number"}
	ServicePort int32 `json:"servicePort,omitempty"`

	// clientCertificate specifies whether clients must present a certificate. None requests no certificate. Request makes a certificate optional. Require rejects clients whose certificate is missing or cannot be verified with ca.crt in the Secret. Defaults to None.
	// +kubebuilder:validation:Enum=None;Request;Require
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
