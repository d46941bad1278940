package main

import "strings"

// identity contains the pod of the server and where it runs, which the operator sets. The response includes no other environment variables.
type identity struct {
	Namespace string `json:"namespace,omitempty"`
	Ingress   string `json:"ingress,omitempty"`
	Service   string `json:"service,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// The response includes these in the group "server".
	Node   string            `json:"-"`
	PodIP  string            `json:"-"`
	HostIP string            `json:"-"`
	Info   map[string]string `json:"-"`
}

// infoPrefix is the prefix of variables that the response includes: ECHO_INFO_COLOUR=blue becomes COLOUR: blue.
const infoPrefix = "ECHO_INFO_"

func identify(env map[string]string) identity {
	i := identity{
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
		if short, ok := strings.CutPrefix(name, infoPrefix); ok {
			i.Info[short] = value
		}
	}
	return i
}
