package main

import "strings"

// identity is the server's own place in the cluster, as the operator tells it. Nothing else of the environment is shown.
type identity struct {
	Namespace string `json:"namespace,omitempty"`
	Ingress   string `json:"ingress,omitempty"`
	Service   string `json:"service,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// The answer shows these in its group "server".
	Node   string            `json:"-"`
	PodIP  string            `json:"-"`
	HostIP string            `json:"-"`
	Info   map[string]string `json:"-"`
}

// infoPrefix marks the variables that users want to see: ECHO_INFO_COLOUR=blue is shown as COLOUR: blue.
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
