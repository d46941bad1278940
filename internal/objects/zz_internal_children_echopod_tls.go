package objects

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// tlsVolume is the name of the volume that contains the certificate.
	tlsVolume = "tls"
	TLSFolder = "/etc/echo-server/tls"
)

// TLSSecret returns the name of the Secret that contains a pod's certificate, or an empty string if the pod does not serve HTTPS.
func TLSSecret(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; volume.Name == tlsVolume && volume.Secret != nil {
			return volume.Secret.SecretName
		}
	}
	return ""
}

// VolumesRead returns a pod's TLS volumes, which TLSSecret reads.
func VolumesRead(pod *corev1.Pod) []corev1.Volume {
	return slices.Clip(slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool { return v.Name != tlsVolume }))
}

// addTLS adds the HTTPS port and certificate to a container, if the Echo has TLS.
func addTLS(c *corev1ac.ContainerApplyConfiguration, echo *v1.Echo) {
	if HasTLS(&echo.Spec) {
		c.WithPorts(containerPort(HTTPSPortName, HTTPSPort(echo.Spec.TLS))).
			WithVolumeMounts(corev1ac.VolumeMount().WithName(tlsVolume).WithMountPath(TLSFolder).WithReadOnly(true))
	}
}

// tlsVolumes returns the volume that contains the certificate, if the Echo has TLS. The Secret is optional, because cert-manager or
// OpenShift often creates it after the pod. Until then, the echo server reports which Secret is missing.
func tlsVolumes(echo *v1.Echo) []*corev1ac.VolumeApplyConfiguration {
	if !HasTLS(&echo.Spec) {
		return nil
	}
	return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(tlsVolume).
		WithSecret(corev1ac.SecretVolumeSource().WithSecretName(echo.Spec.TLS.SecretName).WithOptional(true))}
}

// TLSEnvironment returns the environment variables that make the operator's own echo server serve HTTPS, if the Echo has TLS.
func TLSEnvironment(echo *v1.Echo, required TLSProfile) []*corev1ac.EnvVarApplyConfiguration {
	if !HasTLS(&echo.Spec) {
		return nil
	}
	desired := echo.Spec.TLS
	env := []*corev1ac.EnvVarApplyConfiguration{
		variable("ECHO_TLS_ADDR", ":"+strconv.Itoa(int(HTTPSPort(desired)))),
		variable("ECHO_TLS_DIR", TLSFolder),
		variable("ECHO_TLS_SECRET", desired.SecretName),
	}
	if desired.ClientCertificate != "" && desired.ClientCertificate != v1.ClientCertificateNone {
		env = append(env, variable("ECHO_TLS_CLIENT_CERTIFICATE", string(desired.ClientCertificate)))
	}
	if required.MinVersion != "" {
		env = append(env, variable("ECHO_TLS_MIN_VERSION", required.MinVersion))
	}
	if len(required.Ciphers) > 0 {
		env = append(env, variable("ECHO_TLS_CIPHERS", strings.Join(required.Ciphers, ",")))
	}
	return env
}
