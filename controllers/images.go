package controllers

import (
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Images are the images that the operator knows by itself.
type Images struct {
	// EchoServer is what an Echo runs that names no image.
	EchoServer string
}

// of is the image that an Echo runs.
func (i Images) of(echo *v1.Echo) string {
	if echo.Spec.Image != "" {
		return echo.Spec.Image
	}
	return i.EchoServer
}

// firstParty tells whether an image is the operator's own echo server, in whatever version: it is probed over HTTP and
// drains by itself. A mirror that keeps the repository's name under another host is told to the operator as EchoServer.
func (i Images) firstParty(image string) bool {
	return repository(image) == repository(i.EchoServer)
}

// repository is an image reference without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		image = image[:colon]
	}
	return image
}
