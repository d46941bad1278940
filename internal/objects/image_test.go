package objects

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestFirstParty(t *testing.T) {
	const own = "registry.example.com:5000/mirror/echo-server@sha256:0123"
	for image, want := range map[string]bool{
		own: true,
		"registry.example.com:5000/mirror/echo-server":             true,
		"registry.example.com:5000/mirror/echo-server:v2":          true,
		"registry.example.com:5000/mirror/echo-server:v2@sha256:9": true,
		"registry.example.com/mirror/echo-server":                  false,
		"registry.example.com:5000/mirror/echo-server-fork:v2":     false,
		"nginx": false,
	} {
		NewWithT(t).Expect((Images{EchoServer: own}).FirstParty(image)).To(Equal(want), "firstParty(%s)", image)
	}
}
