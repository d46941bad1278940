package children

import "testing"

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
		if got := (Images{EchoServer: own}).firstParty(image); got != want {
			t.Errorf("firstParty(%s) = %t", image, got)
		}
	}
}
