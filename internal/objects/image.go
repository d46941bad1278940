package objects

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Images holds the operator's configured images.
type Images struct {
	// EchoServer is the image for Echoes that do not set spec.image. EchoServer is required.
	EchoServer string
	// PathCheck is the image that checks run. Without this image, no checks run.
	PathCheck string
}

// Of returns an Echo's image.
func (i Images) Of(echo *v1.Echo) string {
	if echo.Spec.Image != "" {
		return echo.Spec.Image
	}
	return i.EchoServer
}

// FirstParty reports whether an image is the operator's own echo server, in any version. Containers that run this image are probed over
// HTTP and drain their connections. If a mirror uses another repository name, set EchoServer to the image in the mirror.
func (i Images) FirstParty(image string) bool {
	return repository(image) == repository(i.EchoServer)
}

// repository returns an image reference without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		image = image[:colon]
	}
	return image
}

// PullPolicy returns an image's pull policy, which defaults to the API server's default for the tag. The operator sets the policy
// explicitly, because the API server keeps the old default when the image changes (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go).
func PullPolicy(given corev1.PullPolicy, image string) corev1.PullPolicy {
	if given != "" {
		return given
	}
	name, _, hasDigest := strings.Cut(image, "@")
	tag := strings.TrimPrefix(name, repository(name))
	if tag == ":latest" || tag == "" && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// These are the names of a pod's ports, and the default names of a Service's ports.
const (
	PortName        = "http"
	HTTPSPortName   = "https"
	MetricsPortName = "metrics"
)

const (
	// defaultHTTPSPort and defaultHTTPSServicePort are the documented defaults of spec.tls. The schema sets no defaults for these fields,
	// because GitOps tools report a default in an optional object as a difference.
	defaultHTTPSPort, defaultHTTPSServicePort = 8443, 443
	// defaultMetricsPort is the port on which the echo server serves metrics by default.
	defaultMetricsPort = 9090
	// FirstUnprivilegedPort is the lowest port on which an unprivileged process can listen by default.
	FirstUnprivilegedPort = 1024
)

// HTTPSPort returns the port on which an Echo's containers listen for HTTPS.
func HTTPSPort(tls *v1.EchoTLS) int32 { return cmp.Or(tls.Port, defaultHTTPSPort) }

// HTTPSServicePort returns the HTTPS port of an Echo's Service.
func HTTPSServicePort(tls *v1.EchoTLS) int32 { return cmp.Or(tls.ServicePort, defaultHTTPSServicePort) }

// ServicePortName returns the name of the HTTP port of an Echo's Service.
func ServicePortName(echo *v1.Echo) string { return cmp.Or(echo.Spec.Service.PortName, PortName) }

// MetricsPort returns the port on which the operator's own echo server serves metrics: 9090, or 9091 if spec.port is 9090.
func MetricsPort(echo *v1.Echo) int32 {
	if echo.Spec.Port == defaultMetricsPort {
		return defaultMetricsPort + 1
	}
	return defaultMetricsPort
}
