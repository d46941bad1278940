package describe

import (
	"net/netip"
	"strings"
)

// Identity describes the server's pod and node. Its values come from environment variables that the operator sets. The response includes no
// other environment variables.
type Identity struct {
	Namespace string `json:"namespace,omitempty"`
	Ingress   string `json:"ingress,omitempty"`
	Service   string `json:"service,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// The response includes these fields in the "server" group.
	Node   string            `json:"-"`
	PodIP  string            `json:"-"`
	HostIP string            `json:"-"`
	Info   map[string]string `json:"-"`
}

// InfoPrefix is the prefix of the environment variables that the response includes: ECHO_INFO_COLOR=blue becomes COLOR: blue.
const InfoPrefix = "ECHO_INFO_"

// Identify returns the identity that the environment variables describe.
func Identify(env map[string]string) Identity {
	i := Identity{
		Namespace: env["POD_NAMESPACE"],
		Ingress:   env["INGRESS_NAME"],
		Service:   env["SERVICE_NAME"],
		Pod:       env["POD_NAME"],
		Node:      env["NODE_NAME"],
		PodIP:     env["POD_IP"],
		HostIP:    env["HOST_IP"],
		Info:      map[string]string{},
	}
	for name, value := range env {
		if short, ok := strings.CutPrefix(name, InfoPrefix); ok {
			i.Info[short] = value
		}
	}
	return i
}

// hideIdentity removes the fields that identify the server: namespace, ingress, service, pod, node, addresses, version, and uptime.
func (a *Response) hideIdentity() {
	a.Identity = Identity{}
	a.Server = Server{Draining: a.Server.Draining, Info: a.Server.Info}
}

// hideProxies removes the remote address and, unless a trusted proxy reports it, the client's address. Both can belong to a proxy in the
// cluster.
func (c *Client) hideProxies(trusted []netip.Prefix) {
	remote, _ := parseNode(c.Remote)
	address, ok := parseNode(c.Address)
	if !ok || address == remote || isTrusted(address, trusted) {
		c.Address = ""
	}
	c.Remote = ""
}
