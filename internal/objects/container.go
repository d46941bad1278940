package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// ContainerName is the name of the container in every pod of an Echo.
	ContainerName = "echo"

	// preStopSeconds delays the termination of a container that does not drain its connections. Meanwhile, Kubernetes removes the pod's
	// address from the endpoints.
	preStopSeconds = 5

	// readinessPeriodSeconds is short, so that a pod becomes ready soon after its server starts. The first probe often happens before the
	// server listens, and the next probe follows one period later.
	readinessPeriodSeconds = 1
	// readinessFailures keeps a pod ready if its node pauses for up to six seconds.
	readinessFailures = 6
)

// Container returns the container that runs the echo server. The variables in extra are added to its environment.
func Container(echo *v1.Echo, config Config, extra ...*corev1ac.EnvVarApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	image := config.Images.Of(echo)
	firstParty := config.Images.FirstParty(image)
	c := corev1ac.Container().
		WithName(ContainerName).
		WithImage(image).
		WithImagePullPolicy(PullPolicy(echo.Spec.ImagePullPolicy, image)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // the Echo's status quotes the message after a crash
		WithArgs(echo.Spec.Args...).
		WithPorts(containerPort(PortName, echo.Spec.Port)).
		WithEnv(environment(echo, firstParty, slices.Concat(extra, TLSEnvironment(echo, config.TLS)))...).
		WithResources(resources(echo.Spec.Resources, firstParty)).
		WithSecurityContext(ContainerSecurity(echo.Spec.SecurityContext, firstParty))
	if firstParty {
		c.WithPorts(containerPort(MetricsPortName, MetricsPort(echo)))
	}
	addTLS(c, echo)
	return lifecycle(c, firstParty)
}

func containerPort(name string, port int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithProtocol(corev1.ProtocolTCP).WithContainerPort(port)
}

// lifecycle adds probes to a container and, if the container does not drain its connections, a delay before it stops. The probes for the
// operator's own echo server use the metrics port, where client requests cannot crowd them out.
func lifecycle(c *corev1ac.ContainerApplyConfiguration, firstParty bool) *corev1ac.ContainerApplyConfiguration {
	if firstParty {
		ready := httpProbe("/readyz").WithPeriodSeconds(readinessPeriodSeconds).WithFailureThreshold(readinessFailures)
		return c.WithReadinessProbe(ready).WithLivenessProbe(httpProbe("/livez"))
	}
	return c.WithReadinessProbe(tcpProbe()).WithLivenessProbe(tcpProbe()).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
			WithSleep(corev1ac.SleepAction().WithSeconds(preStopSeconds))))
}

func httpProbe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(MetricsPortName)))
}

func tcpProbe() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(PortName)))
}

// resources returns a container's resources. The default requests are small enough for an echo server to fit on any node. The operator's
// own echo server also has a default memory limit, which it never exceeds. Other images have no default limit, because their memory usage
// is not known.
func resources(given *corev1.ResourceRequirements, firstParty bool) *corev1ac.ResourceRequirementsApplyConfiguration {
	if given != nil {
		rounded := given.DeepCopy()
		roundUp(rounded.Limits)
		roundUp(rounded.Requests)
		return AsConfiguration[corev1ac.ResourceRequirementsApplyConfiguration](rounded)
	}
	small := corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("16Mi"),
	})
	if firstParty {
		small.WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")})
	}
	return small
}

// roundUp rounds quantities up to the nearest thousandth, as the API server does when it stores them.
func roundUp(quantities corev1.ResourceList) {
	for name, quantity := range quantities {
		quantity.RoundUp(resource.Milli)
		quantities[name] = quantity
	}
}

// PodSecurity returns the security context of a pod. The default meets the restricted Pod Security Standard and sets no user, because
// OpenShift assigns one. For a port below 1024, PodSecurity sets a sysctl that Kubernetes lists as safe, so that the container can use the
// port without privileges.
func PodSecurityContext(desired *v1.EchoSpec) *corev1ac.PodSecurityContextApplyConfiguration {
	if desired.PodSecurityContext != nil {
		return AsConfiguration[corev1ac.PodSecurityContextApplyConfiguration](desired.PodSecurityContext)
	}
	security := corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if desired.Port < FirstUnprivilegedPort ||
		HasTLS(desired) && HTTPSPort(desired.TLS) < FirstUnprivilegedPort {
		security.WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))
	}
	return security
}

// ContainerSecurity returns the security context of a container. The default meets the restricted Pod Security Standard.
func ContainerSecurity(given *corev1.SecurityContext, readOnlyRoot bool) *corev1ac.SecurityContextApplyConfiguration {
	if given != nil {
		return AsConfiguration[corev1ac.SecurityContextApplyConfiguration](given)
	}
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(readOnlyRoot).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}
