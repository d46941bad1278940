package objects

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// environment returns the environment variables for a container, including extra variables from the operator. A variable in spec.env
// replaces the operator's variable with the same name.
func environment(echo *v1.Echo, firstParty bool, extra []*corev1ac.EnvVarApplyConfiguration) []*corev1ac.EnvVarApplyConfiguration {
	own := append(podEnvironment(), extra...)
	if firstParty {
		own = append(own,
			variable("ECHO_HTTP_ADDR", ":"+strconv.Itoa(int(echo.Spec.Port))),
			variable("ECHO_ADMIN_ADDR", ":"+strconv.Itoa(int(MetricsPort(echo)))))
	}
	own = slices.Concat(own, response(echo.Spec.Response), server(echo.Spec.Server))
	given := make(map[string]bool, len(echo.Spec.Env))
	for i := range echo.Spec.Env {
		given[echo.Spec.Env[i].Name] = true
	}
	env := slices.DeleteFunc(own, func(e *corev1ac.EnvVarApplyConfiguration) bool { return given[*e.Name] })
	for i := range echo.Spec.Env {
		env = append(env, givenVariable(&echo.Spec.Env[i]))
	}
	return env
}

// podEnvironment returns the variables that describe the pod to the echo server. The schema rejects the names of these variables in
// spec.env.
func podEnvironment() []*corev1ac.EnvVarApplyConfiguration {
	return []*corev1ac.EnvVarApplyConfiguration{
		fieldVariable("POD_NAME", "metadata.name"),
		fieldVariable("POD_NAMESPACE", "metadata.namespace"),
		fieldVariable("POD_IP", "status.podIP"),
		fieldVariable("NODE_NAME", "spec.nodeName"),
		fieldVariable("HOST_IP", "status.hostIP"),
	}
}

// serviceEnvironment returns the variables that contain the names of the objects through which requests reach a pod. Companions do not get
// these variables.
func serviceEnvironment(echo *v1.Echo) []*corev1ac.EnvVarApplyConfiguration {
	env := []*corev1ac.EnvVarApplyConfiguration{variable("SERVICE_NAME", echo.Name)}
	if HasIngress(echo) {
		env = append(env, variable("INGRESS_NAME", echo.Name))
	}
	return env
}

// server returns the environment variables that configure the operator's own echo server. It omits variables whose values would be the
// defaults.
func server(desired v1.EchoServer) []*corev1ac.EnvVarApplyConfiguration {
	var env []*corev1ac.EnvVarApplyConfiguration
	if desired.Controls != "" && desired.Controls != v1.ControlsSafe {
		env = append(env, variable("ECHO_CONTROLS", string(desired.Controls)))
	}
	if desired.Identity != nil && !*desired.Identity {
		env = append(env, variable("ECHO_IDENTITY", "false"))
	}
	return env
}

// givenVariable converts a variable in spec.env to an apply configuration. Like the API server, it adds the API version to a field
// reference, because the operator compares a field reference as a whole.
func givenVariable(given *corev1.EnvVar) *corev1ac.EnvVarApplyConfiguration {
	configuration := AsConfiguration[corev1ac.EnvVarApplyConfiguration](given)
	if configuration.ValueFrom != nil && configuration.ValueFrom.FieldRef != nil && configuration.ValueFrom.FieldRef.APIVersion == nil {
		configuration.ValueFrom.FieldRef.WithAPIVersion("v1")
	}
	return configuration
}

func variable(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

func fieldVariable(name, path string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(
		corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath(path)))
}

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
