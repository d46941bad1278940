package children

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Images holds the images configured for the operator.
type Images struct {
	// EchoServer is the image of Echoes without spec.image. It is required.
	EchoServer string
	// PathCheck is the image of checks. Without it, no checks run.
	PathCheck string
}

// Of returns an Echo's image.
func (i Images) Of(echo *v1.Echo) string {
	if echo.Spec.Image != "" {
		return echo.Spec.Image
	}
	return i.EchoServer
}

// FirstParty reports whether an image is the operator's own echo server, in any version. That image is probed over HTTP and drains its
// connections. If a mirror has another name, set EchoServer to that name.
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

// PullPolicy returns an image's pull policy, which defaults to the API server's default for the tag. The operator sets it explicitly,
// because the API server keeps an old default when the image changes: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
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
