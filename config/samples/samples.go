// Package samples contains the examples of Echoes that the OpenShift console can offer.
package samples

import "embed"

// Files contains the examples, a file each. The comment at the beginning of a file describes its example: the first line is the title,
// which names what must exist. The other files in this folder are no examples of the console: v1_echo.yaml is what its form begins with,
// v1_echo_autoscaled.yaml has two objects, and the image of v1_echo_hello.yaml requires root, which OpenShift does not permit.
//
//go:embed v1_echo_checks.yaml v1_echo_faults.yaml v1_echo_full.yaml v1_echo_gateway.yaml v1_echo_grpc.yaml v1_echo_ingress.yaml
//go:embed v1_echo_tls.yaml
var Files embed.FS
