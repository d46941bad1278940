// Package echopod builds and recognizes the pods of Echoes and their companions.
package objects

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// environment returns the environment variables for a container, including extra variables from the operator. A variable in spec.env
// replaces the operator's variable with the same name.
func environment(echo *v1.Echo, firstParty bool, extra []*corev1ac.EnvVarApplyConfiguration) []*corev1ac.EnvVarApplyConfiguration {
	own := append(podEnvironment(), extra...)
	if firstParty {
		own = append(own,
			variable("ECHO_HTTP_ADDR", ":"+strconv.Itoa(int(echo.Spec.Port))),
			variable("ECHO_ADMIN_ADDR", ":"+strconv.Itoa(int(MetricsPort(echo)))))
	}
	own = slices.Concat(own, response(echo.Spec.Response), server(echo.Spec.Server))
	given := make(map[string]bool, len(echo.Spec.Env))
	for i := range echo.Spec.Env {
		given[echo.Spec.Env[i].Name] = true
	}
	env := slices.DeleteFunc(own, func(e *corev1ac.EnvVarApplyConfiguration) bool { return given[*e.Name] })
	for i := range echo.Spec.Env {
		env = append(env, givenVariable(&echo.Spec.Env[i]))
	}
	return env
}

// podEnvironment returns the variables that describe the pod to the echo server. The schema rejects the names of these variables in
// spec.env.
func podEnvironment() []*corev1ac.EnvVarApplyConfiguration {
	return []*corev1ac.EnvVarApplyConfiguration{
		fieldVariable("POD_NAME", "metadata.name"),
		fieldVariable("POD_NAMESPACE", "metadata.namespace"),
		fieldVariable("POD_IP", "status.podIP"),
		fieldVariable("NODE_NAME", "spec.nodeName"),
		fieldVariable("HOST_IP", "status.hostIP"),
	}
}

// serviceEnvironment returns the variables that contain the names of the objects through which requests reach a pod. Companions do not get
// these variables.
func serviceEnvironment(echo *v1.Echo) []*corev1ac.EnvVarApplyConfiguration {
	env := []*corev1ac.EnvVarApplyConfiguration{variable("SERVICE_NAME", echo.Name)}
	if HasIngress(echo) {
		env = append(env, variable("INGRESS_NAME", echo.Name))
	}
	return env
}

// server returns the environment variables that configure the operator's own echo server. It omits variables whose values would be the
// defaults.
func server(desired v1.EchoServer) []*corev1ac.EnvVarApplyConfiguration {
	var env []*corev1ac.EnvVarApplyConfiguration
	if desired.Controls != "" && desired.Controls != v1.ControlsSafe {
		env = append(env, variable("ECHO_CONTROLS", string(desired.Controls)))
	}
	if desired.Identity != nil && !*desired.Identity {
		env = append(env, variable("ECHO_IDENTITY", "false"))
	}
	return env
}

// givenVariable converts a variable in spec.env to an apply configuration. Like the API server, it adds the API version to a field
// reference, because the operator compares a field reference as a whole.
func givenVariable(given *corev1.EnvVar) *corev1ac.EnvVarApplyConfiguration {
	configuration := AsConfiguration[corev1ac.EnvVarApplyConfiguration](given)
	if configuration.ValueFrom != nil && configuration.ValueFrom.FieldRef != nil && configuration.ValueFrom.FieldRef.APIVersion == nil {
		configuration.ValueFrom.FieldRef.WithAPIVersion("v1")
	}
	return configuration
}

func variable(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

func fieldVariable(name, path string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(
		corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath(path)))
}

// response returns the environment variables that set the default response of the operator's own echo server. Each dollar sign is doubled,
// because Kubernetes could interpret a single dollar sign as the start of a variable reference.
func response(desired *v1.EchoResponse) []*corev1ac.EnvVarApplyConfiguration {
	if desired == nil {
		return nil
	}
	var env []*corev1ac.EnvVarApplyConfiguration
	add := func(name, value string) {
		env = append(env, corev1ac.EnvVar().WithName(name).WithValue(strings.ReplaceAll(value, "$", "$$")))
	}
	if desired.StatusCode != 0 {
		add("ECHO_RESPONSE_STATUS", strconv.Itoa(int(desired.StatusCode)))
	}
	if desired.DelayMilliseconds != 0 {
		add("ECHO_RESPONSE_DELAY", strconv.Itoa(int(desired.DelayMilliseconds))+"ms")
	}
	if len(desired.Headers) > 0 {
		add("ECHO_RESPONSE_HEADERS", compact(desired.Headers))
	}
	if desired.Body != "" {
		add("ECHO_RESPONSE_BODY", desired.Body)
	}
	if len(desired.Faults) > 0 {
		add("ECHO_RESPONSE_FAULTS", compact(desired.Faults))
	}
	return env
}

// compact returns headers or faults as JSON without HTML escapes, because Linux limits the length of environment variables.
func compact(list any) string {
	text := &strings.Builder{}
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(list); err != nil {
		panic(fmt.Sprintf("writing %T: %v", list, err)) // a bug, because strings and numbers can always be encoded
	}
	return strings.TrimSpace(text.String())
}

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
