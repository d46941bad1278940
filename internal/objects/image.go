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
func (i Images) Of(echo *v1.Echo) string { return cmp.Or(echo.Spec.Image, i.EchoServer) }

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

// pullPolicy returns an image's pull policy, which defaults to the API server's default for the tag. The operator sets the policy
// explicitly, because the API server keeps the old default when the image changes (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go).
func pullPolicy(given corev1.PullPolicy, image string) corev1.PullPolicy {
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
