package objects

import (
	"cmp"
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

// container returns the container that runs the echo server. The variables in extra are added to its environment.
func container(echo *v1.Echo, config Config, extra ...*corev1ac.EnvVarApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	image := config.Images.Of(echo)
	firstParty := config.Images.FirstParty(image)
	c := corev1ac.Container().
		WithName(ContainerName).
		WithImage(image).
		WithImagePullPolicy(pullPolicy(echo.Spec.ImagePullPolicy, image)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // the Echo's status quotes the message after a crash
		WithArgs(echo.Spec.Args...).
		WithPorts(containerPort(portName, echo.Spec.Port)).
		WithEnv(environment(echo, firstParty, slices.Concat(extra, tlsEnvironment(echo, config.TLS)))...).
		WithResources(resources(echo.Spec.Resources, firstParty)).
		WithSecurityContext(containerSecurity(echo.Spec.SecurityContext, firstParty))
	if firstParty { // its probes use the metrics port, where client requests cannot crowd them out
		c.WithPorts(containerPort(metricsPortName, metricsPort(&echo.Spec))).
			WithReadinessProbe(httpProbe("/readyz").WithPeriodSeconds(readinessPeriodSeconds).WithFailureThreshold(readinessFailures)).
			WithLivenessProbe(httpProbe("/livez"))
	} else {
		c.WithReadinessProbe(tcpProbe()).WithLivenessProbe(tcpProbe()).
			WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
				WithSleep(corev1ac.SleepAction().WithSeconds(preStopSeconds))))
	}
	if hasTLS(&echo.Spec) {
		c.WithPorts(containerPort(httpsPortName, httpsPort(echo.Spec.TLS))).
			WithVolumeMounts(corev1ac.VolumeMount().WithName(tlsVolume).WithMountPath(tlsFolder).WithReadOnly(true))
	}
	return c
}

func containerPort(name string, port int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithProtocol(corev1.ProtocolTCP).WithContainerPort(port)
}

func httpProbe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(metricsPortName)))
}

func tcpProbe() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName)))
}

// resources returns a container's resources. The default requests are small enough for an echo server to fit on any node. The operator's
// own echo server also has a default memory limit, which it never exceeds. Other images have none, because their memory usage is unknown.
func resources(given *corev1.ResourceRequirements, firstParty bool) *corev1ac.ResourceRequirementsApplyConfiguration {
	if given != nil {
		rounded := given.DeepCopy()
		roundUp(rounded.Limits)
		roundUp(rounded.Requests)
		return asConfiguration[corev1ac.ResourceRequirementsApplyConfiguration](rounded)
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

// podSecurityContext returns the security context of a pod. The default meets the restricted Pod Security Standard and sets no user,
// because OpenShift assigns one. For a port below 1024, it sets a sysctl that Kubernetes lists as safe, so that the container can use the
// port without privileges.
func podSecurityContext(desired *v1.EchoSpec) *corev1ac.PodSecurityContextApplyConfiguration {
	if desired.PodSecurityContext != nil {
		return asConfiguration[corev1ac.PodSecurityContextApplyConfiguration](desired.PodSecurityContext)
	}
	security := corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if desired.Port < firstUnprivilegedPort || hasTLS(desired) && httpsPort(desired.TLS) < firstUnprivilegedPort {
		security.WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))
	}
	return security
}

// containerSecurity returns the security context of a container. The default meets the restricted Pod Security Standard.
func containerSecurity(given *corev1.SecurityContext, readOnlyRoot bool) *corev1ac.SecurityContextApplyConfiguration {
	if given != nil {
		return asConfiguration[corev1ac.SecurityContextApplyConfiguration](given)
	}
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(readOnlyRoot).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// environment returns the environment variables for a container, including extra variables from the operator. A variable in spec.env
// replaces the operator's variable with the same name.
func environment(echo *v1.Echo, firstParty bool, extra []*corev1ac.EnvVarApplyConfiguration) []*corev1ac.EnvVarApplyConfiguration {
	own := append(variables{
		fieldVariable("ECHO_POD_NAME", "metadata.name"),
		fieldVariable("ECHO_POD_NAMESPACE", "metadata.namespace"),
		fieldVariable("ECHO_POD_IP", "status.podIP"),
		fieldVariable("ECHO_NODE_NAME", "spec.nodeName"),
		fieldVariable("ECHO_HOST_IP", "status.hostIP"),
	}, extra...)
	own.addIf(firstParty, "ECHO_HTTP_ADDR", ":"+strconv.Itoa(int(echo.Spec.Port)))
	own.addIf(firstParty, "ECHO_ADMIN_ADDR", ":"+strconv.Itoa(int(metricsPort(&echo.Spec))))
	own = append(own, response(echo.Spec.Response)...)
	// Variables whose values would be the defaults are omitted.
	controls := cmp.Or(echo.Spec.Server.Controls, v1.ControlsSafe)
	own.addIf(controls != v1.ControlsSafe, "ECHO_CONTROLS", string(controls))
	own.addIf(!*cmp.Or(echo.Spec.Server.Identity, new(true)), "ECHO_IDENTITY", "false")
	given := asConfigurations[corev1ac.EnvVarApplyConfiguration](echo.Spec.Env)
	for _, each := range given {
		own = slices.DeleteFunc(own, func(e *corev1ac.EnvVarApplyConfiguration) bool { return *e.Name == *each.Name })
		// Like the API server, the operator adds the API version to a field reference, because it compares a field reference as a whole.
		if from := each.ValueFrom; from != nil && from.FieldRef != nil && from.FieldRef.APIVersion == nil {
			from.FieldRef.WithAPIVersion("v1")
		}
	}
	return append(own, given...)
}

// variables are environment variables of a container.
type variables []*corev1ac.EnvVarApplyConfiguration

// addIf adds a variable if the container needs it.
func (v *variables) addIf(needed bool, name, value string) {
	if needed {
		*v = append(*v, variable(name, value))
	}
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
	var env variables
	add := func(isSet bool, name, value string) { env.addIf(isSet, name, strings.ReplaceAll(value, "$", "$$")) }
	add(desired.StatusCode != 0, "ECHO_RESPONSE_STATUS", strconv.Itoa(int(desired.StatusCode)))
	add(desired.DelayMilliseconds != 0, "ECHO_RESPONSE_DELAY", strconv.Itoa(int(desired.DelayMilliseconds))+"ms")
	add(len(desired.Headers) > 0, "ECHO_RESPONSE_HEADERS", compact(desired.Headers))
	add(desired.Body != "", "ECHO_RESPONSE_BODY", desired.Body)
	add(len(desired.Faults) > 0, "ECHO_RESPONSE_FAULTS", compact(desired.Faults))
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

// These are the names of a pod's ports, and the default names of a Service's ports.
const (
	portName        = "http"
	httpsPortName   = "https"
	metricsPortName = "metrics"
)

const (
	// defaultHTTPSPort and defaultHTTPSServicePort are the documented defaults of spec.tls. The schema sets no defaults for these fields,
	// because GitOps tools report a default in an optional object as a difference.
	defaultHTTPSPort, defaultHTTPSServicePort = 8443, 443
	// defaultMetricsPort is the port on which the echo server serves metrics by default.
	defaultMetricsPort = 9090
	// firstUnprivilegedPort is the lowest port on which an unprivileged process can listen by default.
	firstUnprivilegedPort = 1024
)

// httpsPort returns the port on which an Echo's containers listen for HTTPS.
func httpsPort(tls *v1.EchoTLS) int32 { return cmp.Or(tls.Port, defaultHTTPSPort) }

// httpsServicePort returns the HTTPS port of an Echo's Service.
func httpsServicePort(spec *v1.EchoSpec) int32 {
	return cmp.Or(spec.Service.HTTPSPort, defaultHTTPSServicePort)
}

// servicePortName returns the name of the HTTP port of an Echo's Service.
func servicePortName(echo *v1.Echo) string { return cmp.Or(echo.Spec.Service.PortName, portName) }

// metricsPort returns the port on which the operator's own echo server serves metrics: 9090, or 9091 if spec.port is 9090.
func metricsPort(spec *v1.EchoSpec) int32 {
	if spec.Port == defaultMetricsPort {
		return defaultMetricsPort + 1
	}
	return defaultMetricsPort
}

const (
	// tlsVolume is the name of the volume that contains the certificate.
	tlsVolume = "tls"
	tlsFolder = "/etc/echo-server/tls"
)

// tlsEnvironment returns the environment variables that make the operator's own echo server serve HTTPS, if the Echo has TLS.
func tlsEnvironment(echo *v1.Echo, required TLSProfile) []*corev1ac.EnvVarApplyConfiguration {
	if !hasTLS(&echo.Spec) {
		return nil
	}
	desired := echo.Spec.TLS
	env := variables{
		variable("ECHO_TLS_ADDR", ":"+strconv.Itoa(int(httpsPort(desired)))),
		variable("ECHO_TLS_DIR", tlsFolder),
		variable("ECHO_TLS_SECRET", desired.SecretName),
	}
	certificate := cmp.Or(desired.ClientCertificate, v1.ClientCertificateNone)
	env.addIf(certificate != v1.ClientCertificateNone, "ECHO_TLS_CLIENT_CERTIFICATE", string(certificate))
	env.addIf(required.MinVersion != "", "ECHO_TLS_MIN_VERSION", required.MinVersion)
	env.addIf(len(required.Ciphers) > 0, "ECHO_TLS_CIPHERS", strings.Join(required.Ciphers, ","))
	return env
}
