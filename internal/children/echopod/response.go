package echopod

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// response returns the environment variables that set the default response of the operator's own echo server. Each dollar sign is doubled,
// because Kubernetes could interpret a single dollar sign as the start of a variable reference.
func response(desired *v1.EchoResponse) []*corev1ac.EnvVarApplyConfiguration {
	if desired == nil {
		return nil
	}
	var env []*corev1ac.EnvVarApplyConfiguration
	add := func(name, value string) {
		env = append(env, corev1ac.EnvVar().WithName(name).WithValue(strings.ReplaceAll(value, "$", "$$")))
	}
	if desired.StatusCode != 0 {
		add("ECHO_RESPONSE_STATUS", strconv.Itoa(int(desired.StatusCode)))
	}
	if desired.DelayMilliseconds != 0 {
		add("ECHO_RESPONSE_DELAY", strconv.Itoa(int(desired.DelayMilliseconds))+"ms")
	}
	if len(desired.Headers) > 0 {
		add("ECHO_RESPONSE_HEADERS", compact(desired.Headers))
	}
	if desired.Body != "" {
		add("ECHO_RESPONSE_BODY", desired.Body)
	}
	if len(desired.Faults) > 0 {
		add("ECHO_RESPONSE_FAULTS", compact(desired.Faults))
	}
	return env
}

// compact returns headers or faults as JSON without HTML escapes, because Linux limits the length of environment variables.
func compact(list any) string {
	text := &strings.Builder{}
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(list); err != nil {
		panic(fmt.Sprintf("writing %T: %v", list, err)) // a bug, because strings and numbers can always be encoded
	}
	return strings.TrimSpace(text.String())
}
