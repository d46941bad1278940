// Package samples contains the example Echoes that the OpenShift console can offer.
package samples

import "embed"

// Files contains the examples, one per file. Each file begins with a comment that describes the example. The first line of the comment is
// the title, which names any prerequisites. Files omits v1_echo.yaml, because the console uses it to prefill the form for new Echoes. Files
// also omits v1_echo_autoscaled.yaml, which contains two objects, and v1_echo_hello.yaml, whose image requires root.
//
//go:embed v1_echo_checks.yaml v1_echo_faults.yaml v1_echo_full.yaml v1_echo_gateway.yaml v1_echo_grpc.yaml v1_echo_ingress.yaml
//go:embed v1_echo_tls.yaml
var Files embed.FS
