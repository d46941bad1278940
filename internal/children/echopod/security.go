package echopod

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// PodSecurity returns the security context of a pod. The default meets the restricted Pod Security Standard and sets no user, because
// OpenShift assigns one. For a port below 1024, PodSecurity sets a sysctl that Kubernetes lists as safe, so that the container can use the
// port without privileges.
func PodSecurity(desired *v1.EchoSpec) *corev1ac.PodSecurityContextApplyConfiguration {
	if desired.PodSecurityContext != nil {
		return children.AsConfiguration[corev1ac.PodSecurityContextApplyConfiguration](desired.PodSecurityContext)
	}
	security := corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if desired.Port < children.FirstUnprivilegedPort ||
		children.HasTLS(desired) && children.HTTPSPort(desired.TLS) < children.FirstUnprivilegedPort {
		security.WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))
	}
	return security
}

// ContainerSecurity returns the security context of a container. The default meets the restricted Pod Security Standard.
func ContainerSecurity(given *corev1.SecurityContext, readOnlyRoot bool) *corev1ac.SecurityContextApplyConfiguration {
	if given != nil {
		return children.AsConfiguration[corev1ac.SecurityContextApplyConfiguration](given)
	}
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(readOnlyRoot).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}
