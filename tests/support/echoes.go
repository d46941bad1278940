// Package support contains helpers that the test suites share.
package support

import (
	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Echo returns an Echo with two replicas and the schema's defaults, after applying changes.
func Echo(namespace, name string, changes ...func(*v1.Echo)) *v1.Echo {
	echo := &v1.Echo{
		APIVersion: v1.GroupVersion.String(), Kind: "Echo",
		Namespace: namespace, Name: name,
		Spec: v1.EchoSpec{
			Replicas:         new(int32(2)),
			Port:             8080,
			Server:           v1.EchoServer{Controls: v1.ControlsSafe, Identity: new(true)},
			Service:          v1.EchoService{Type: "ClusterIP", Port: 80},
			DisruptionBudget: v1.EchoDisruptionBudget{Enabled: new(true), MaxUnavailable: new(int32(1))},
		},
	}
	for _, change := range changes {
		change(echo)
	}
	return echo
}
