package controllers

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// terminationGraceSeconds covers the echo server's drain delay (5 s) and its cap on shutting down (20 s).
	terminationGraceSeconds = 30
	// preStopSeconds lets an image that does not drain finish while its address leaves the endpoints.
	preStopSeconds = 5
	// usualMetricsPort is where the echo server serves metrics unless it is told otherwise.
	usualMetricsPort = 9090
	// firstUnprivilegedPort is the lowest port that a process without rights may listen on by default.
	firstUnprivilegedPort = 1024
)

// podTemplate is what each pod of an Echo is made from.
func podTemplate(echo *v1.Echo, images Images) *corev1ac.PodTemplateSpecApplyConfiguration {
	wanted := &echo.Spec
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationGraceSeconds).
		WithSecurityContext(podSecurity(wanted)).
		WithNodeSelector(wanted.NodeSelector).
		WithTopologySpreadConstraints(spread(echo)...).
		WithContainers(container(echo, images))
	for _, secret := range wanted.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	for i := range wanted.Tolerations {
		spec.WithTolerations(asConfiguration[corev1ac.TolerationApplyConfiguration](&wanted.Tolerations[i]))
	}
	if wanted.Affinity != nil {
		spec.WithAffinity(asConfiguration[corev1ac.AffinityApplyConfiguration](wanted.Affinity))
	}
	if wanted.PriorityClassName != "" {
		spec.WithPriorityClassName(wanted.PriorityClassName)
	}
	return corev1ac.PodTemplateSpec().
		WithLabels(wanted.PodLabels).
		WithLabels(childLabels(echo)).
		WithAnnotations(wanted.PodAnnotations).
		WithSpec(spec)
}

// spread is how the pods are spread: as given, or evenly over nodes and zones where that is possible.
func spread(echo *v1.Echo) []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	var constraints []*corev1ac.TopologySpreadConstraintApplyConfiguration
	for i := range echo.Spec.TopologySpreadConstraints {
		constraints = append(constraints,
			asConfiguration[corev1ac.TopologySpreadConstraintApplyConfiguration](&echo.Spec.TopologySpreadConstraints[i]))
	}
	if len(constraints) > 0 {
		return constraints
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		constraints = append(constraints, corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(key).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(echo))))
	}
	return constraints
}

// container is the echo server.
func container(echo *v1.Echo, images Images) *corev1ac.ContainerApplyConfiguration {
	image := images.of(echo)
	firstParty := images.firstParty(image)
	c := corev1ac.Container().
		WithName(containerName).
		WithImage(image).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // so that the status can tell why it crashed
		WithArgs(echo.Spec.Args...).
		WithPorts(corev1ac.ContainerPort().
			WithName(portName).
			WithProtocol(corev1.ProtocolTCP).
			WithContainerPort(echo.Spec.Port)).
		WithEnv(environment(echo, firstParty)...).
		WithResources(resources(echo.Spec.Resources)).
		WithSecurityContext(containerSecurity(echo.Spec.SecurityContext, firstParty))
	if firstParty {
		c.WithPorts(corev1ac.ContainerPort().
			WithName(metricsPortName).
			WithProtocol(corev1.ProtocolTCP).
			WithContainerPort(metricsPort(echo)))
	}
	if echo.Spec.ImagePullPolicy != "" {
		c.WithImagePullPolicy(echo.Spec.ImagePullPolicy)
	}
	return lifecycle(c, firstParty)
}

// metricsPort is where the operator's own echo server serves metrics: 9090, and 9091 if it listens on that.
func metricsPort(echo *v1.Echo) int32 {
	if echo.Spec.Port == usualMetricsPort {
		return usualMetricsPort + 1
	}
	return usualMetricsPort
}

// lifecycle says when a container is ready, when it is dead, and how it ends.
func lifecycle(c *corev1ac.ContainerApplyConfiguration, firstParty bool) *corev1ac.ContainerApplyConfiguration {
	if firstParty {
		return c.WithReadinessProbe(httpProbe("/-/readyz").WithPeriodSeconds(2)).WithLivenessProbe(httpProbe("/-/livez"))
	}
	return c.WithReadinessProbe(tcpProbe()).WithLivenessProbe(tcpProbe()).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
			WithSleep(corev1ac.SleepAction().WithSeconds(preStopSeconds))))
}

func httpProbe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(portName)))
}

func tcpProbe() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName)))
}

// environment is what the container is told: who it is, where to listen, and what the Echo adds. What the Echo says wins.
func environment(echo *v1.Echo, firstParty bool) []*corev1ac.EnvVarApplyConfiguration {
	own := identity(echo)
	if firstParty {
		own = append(own,
			corev1ac.EnvVar().WithName("ECHO_HTTP_ADDR").WithValue(":"+strconv.Itoa(int(echo.Spec.Port))),
			corev1ac.EnvVar().WithName("ECHO_ADMIN_ADDR").WithValue(":"+strconv.Itoa(int(metricsPort(echo)))))
	}
	own = append(own, response(echo.Spec.Response)...)
	given := make(map[string]bool, len(echo.Spec.Env))
	for i := range echo.Spec.Env {
		given[echo.Spec.Env[i].Name] = true
	}
	env := make([]*corev1ac.EnvVarApplyConfiguration, 0, len(own)+len(echo.Spec.Env))
	for _, e := range own {
		if !given[*e.Name] {
			env = append(env, e)
		}
	}
	for i := range echo.Spec.Env {
		env = append(env, asConfiguration[corev1ac.EnvVarApplyConfiguration](&echo.Spec.Env[i]))
	}
	return env
}

// identity tells a pod its own place in the cluster. The names are refused in spec.env by the schema.
func identity(echo *v1.Echo) []*corev1ac.EnvVarApplyConfiguration {
	field := func(name, path string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValueFrom(
			corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath(path)))
	}
	env := []*corev1ac.EnvVarApplyConfiguration{
		field("POD_NAME", "metadata.name"),
		field("POD_NAMESPACE", "metadata.namespace"),
		field("POD_IP", "status.podIP"),
		field("NODE_NAME", "spec.nodeName"),
		field("HOST_IP", "status.hostIP"),
		corev1ac.EnvVar().WithName("SERVICE_NAME").WithValue(echo.Name),
	}
	if hasIngress(echo) {
		env = append(env, corev1ac.EnvVar().WithName("INGRESS_NAME").WithValue(echo.Name))
	}
	return env
}

// resources are the ones given, or requests so small that an echo server finds room anywhere.
func resources(given *corev1.ResourceRequirements) *corev1ac.ResourceRequirementsApplyConfiguration {
	if given != nil {
		return asConfiguration[corev1ac.ResourceRequirementsApplyConfiguration](given)
	}
	return corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("16Mi"),
	})
}

// podSecurity is as given, or meets Pod Security "restricted" without naming a user, which OpenShift assigns. A port below
// 1024 needs no privilege once the pod's own network namespace says so; the sysctl is one that Kubernetes calls safe.
func podSecurity(wanted *v1.EchoSpec) *corev1ac.PodSecurityContextApplyConfiguration {
	if wanted.PodSecurityContext != nil {
		return asConfiguration[corev1ac.PodSecurityContextApplyConfiguration](wanted.PodSecurityContext)
	}
	security := corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if wanted.Port < firstUnprivilegedPort {
		security.WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))
	}
	return security
}

// containerSecurity is as given, or meets Pod Security "restricted".
func containerSecurity(given *corev1.SecurityContext, readOnlyRoot bool) *corev1ac.SecurityContextApplyConfiguration {
	if given != nil {
		return asConfiguration[corev1ac.SecurityContextApplyConfiguration](given)
	}
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(readOnlyRoot).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// asConfiguration restates a piece of an API object as an apply configuration; the two have the same JSON.
func asConfiguration[T any](piece any) *T {
	configuration := new(T)
	text, err := json.Marshal(piece)
	if err == nil {
		err = json.Unmarshal(text, configuration)
	}
	if err != nil {
		panic(fmt.Sprintf("restating %T as %T: %v", piece, configuration, err)) // a defect: both types are the API's own
	}
	return configuration
}
