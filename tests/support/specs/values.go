package specs

import (
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// The schema does not express all of Kubernetes' requirements. Therefore, the functions below list values that Kubernetes accepts, and a
// few values that it rejects.

// stringsByField returns values for string fields, keyed by the last part or parts of the field's path.
func stringsByField() map[string][]string {
	return map[string][]string{
		"image": {"nginx", "nginx:1.27", "nginx:latest", "registry.example.com:5000/echo",
			"quay.io/echo-operator/echo-server:v0.2.0", "quay.io/echo-operator/echo-server"},
		"host":                     {"echo.example.com", "*.example.com", "a.b.c"},
		"path":                     {"/", "/echo", "/a/b/"},
		"ingress.path":             {"/", "/echo", "/a/b/", "/echo(/|$)(.*)", "/a//b"},
		"portName":                 {"http", "web", "h2c-1", "https", "metrics"},
		"appProtocol":              {"http", "kubernetes.io/h2c", "example.com/Own_1.0", "-h2c"},
		"className":                {"nginx", "traefik"},
		"loadBalancerClass":        {"example.com/one", "example.com/two"},
		"loadBalancerSourceRanges": {"10.0.0.0/8", "fd00::/8", "10.1.2.3/8"},
		"serviceAccountName":       {"default", "mesh"},
		"body":                     {"hello", "a\nb", "$(ECHO_POD_NAME) $HOME $$", "äöü 😀", `{"a": [1]}`},
		"priorityClassName":        {"system-node-critical", "low"},
		"operator":                 {"Exists", "Equal", "In", "NotIn", "DoesNotExist"},
		"effect":                   {"NoSchedule", "NoExecute", "PreferNoSchedule"},
		"cidr":                     {"10.0.0.0/8", "fd00::/8"},
		"except":                   {"10.1.0.0/16"},
		"topologyKey":              {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.org/rack"},
		"whenUnsatisfiable":        {"ScheduleAnyway", "DoNotSchedule"},
		"nodeAffinityPolicy":       {"Honor", "Ignore"},
		"nodeTaintsPolicy":         {"Honor", "Ignore"},
		"resource":                 {"limits.cpu", "requests.memory", "limits.memory"},
		"containerName":            {"echo"},
		"fieldPath":                {"metadata.name", "status.podIP", "metadata.labels['app.kubernetes.io/name']", "spec.nodeName", "nonsense"},
		"apiVersion":               {"v1"},
		"seccompProfile.type":      {"RuntimeDefault", "Unconfined", "RuntimeDefault", "Localhost"},
		"appArmorProfile.type":     {"RuntimeDefault", "Unconfined"},
		"procMount":                {"Default"},
		"fsGroupChangePolicy":      {"Always", "OnRootMismatch"},
		"supplementalGroupsPolicy": {"Merge", "Strict"},
		"seLinuxChangePolicy":      {"MountOption", "Recursive"},
		"sysctls[0].name":          {"kernel.shm_rmid_forced", "net.ipv4.tcp_syncookies"},
		"sysctls[1].name":          {"net.ipv4.ip_unprivileged_port_start"},
		"sysctls[0].value":         {"0", "1"},
		"capabilities.add":         {"NET_BIND_SERVICE", "SYS_TIME"},
		"capabilities.drop":        {"ALL", "KILL"},
		"headers.name":             {"x-one", "x-two", "content-type", "connection"},
		"headers.value":            {"text/plain", "1", "a $(b) $c"},
		"args":                     {"--verbose", "$(ECHO_POD_NAME)", "", "a b"},
		"env.name":                 {"ONE", "TWO", "three.3", "ECHO_RESPONSE_BODY", "ECHO_HTTP_ADDR", "ECHO_POD_NAME"},
		"env.value":                {"1", "$(ONE)", "$$", ""},
		"schedule":                 {"@hourly", "*/15 * * * *", "99 * * * *"},
		"groups":                   {"client", "tls", "others"},
		"expect.operator":          {"In", "NotIn", "AtLeast", "others"},
		"expect.values":            {"kept", "10Mi", "a,b"},
		"b":                        {"one", ""}, // a label or annotation value
	}
}

// stringsOf returns values for the string field at a path.
func stringsOf(path []string) []string {
	known := stringsByField()
	words := slices.DeleteFunc(slices.Clone(path), func(part string) bool { return strings.HasPrefix(part, "[") })
	for count := min(2, len(words)); count > 0; count-- {
		if values, found := known[strings.Join(words[len(words)-count:], ".")]; found {
			return values
		}
	}
	return []string{"one", "two", "three-3"}
}

// integersOf returns values for an integer field.
func integersOf(name string) []int64 {
	switch name {
	case "replicas":
		return []int64{0, 1, 2, 3, 20}
	case "port":
		return []int64{80, 8080, 8081, 9090, 9091, 443}
	case "statusCode":
		return []int64{200, 404, 599}
	case "httpsPort":
		return []int64{443, 8443, 80}
	case "percentage":
		return []int64{1, 50, 100}
	case "weight", "maxSkew":
		return []int64{1, 2, 100}
	case "minDomains":
		return []int64{1}
	default:
		return []int64{1, 2, 1000}
	}
}

// mapKeysOf returns keys for a map field.
func mapKeysOf(path []string) []string {
	if path[0] == "resources" {
		return []string{"cpu", "memory", "ephemeral-storage"}
	}
	return []string{"example.org/a", "b", "c"}
}

// rarely reports whether drawObject leaves out the given optional field. It does so for fields most of whose values are rejected.
func rarely(name string) bool {
	return slices.Contains([]string{"windowsOptions", "matchFields", "matchLabelKeys", "mismatchLabelKeys",
		"localhostProfile", "minDomains", "hostProcess", "appArmorProfile", "ipFamilies"}, name)
}

// oneOf makes an object comply with rules that no schema expresses, but deliberately leaves some rules broken.
func oneOf(t *rapid.T, f Field, value map[string]any) map[string]any {
	keep := func(fields ...string) {
		for _, name := range fields[1:] {
			if value[fields[0]] != nil {
				delete(value, name)
			}
		}
	}
	switch f.Path[len(f.Path)-1] {
	case "valueFrom":
		if len(value) > 1 {
			keep(rapid.Permutation([]string{"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"}).Draw(t, "source")...)
			keep("resourceFieldRef", "configMapKeyRef", "secretKeyRef")
			keep("configMapKeyRef", "secretKeyRef")
		}
	case "securityContext":
		keep("privileged", "allowPrivilegeEscalation")
	}
	fitOperator(f, value)
	if value["effect"] != "NoExecute" {
		delete(value, "tolerationSeconds")
	}
	if value["valueFrom"] != nil {
		delete(value, "value")
	}
	return value
}

// fitOperator sets the values of a requirement or a toleration according to its operator.
func fitOperator(f Field, value map[string]any) {
	switch value["operator"] {
	case "Exists":
		delete(value, "value")
		delete(value, "values")
	case "Equal", "DoesNotExist":
		delete(value, "values")
	case "In", "NotIn":
		if f.Path[0] == "affinity" || f.Path[0] == "topologySpreadConstraints" {
			value["values"] = []any{"x"}
		}
	}
}

// AddRequired sets the fields that other fields require.
func AddRequired(spec map[string]any) {
	if ingress, given := spec["ingress"].(map[string]any); given {
		if tls, given := ingress["tls"].(map[string]any); given {
			tls["enabled"], ingress["host"] = true, "echo.example.com"
		}
	}
	for _, part := range []string{"ingress", "gateway", "networkPolicy"} {
		if fields, given := spec[part].(map[string]any); given && fields["enabled"] == nil {
			fields["enabled"] = true
		}
	}
	if tls, given := spec["tls"].(map[string]any); given && tls["secretName"] == nil {
		tls["secretName"] = "one"
	}
	addToFaults(spec)
	if service, given := spec["service"].(map[string]any); given {
		switch {
		case service["loadBalancerClass"] != nil, service["loadBalancerSourceRanges"] != nil:
			service["type"] = "LoadBalancer"
		case service["externalTrafficPolicy"] != nil && service["type"] != "LoadBalancer":
			service["type"] = "NodePort"
		}
	}
}

// addToFaults adds an effect to each fault that has none.
func addToFaults(spec map[string]any) {
	response, _ := spec["response"].(map[string]any)
	faults, _ := response["faults"].([]any)
	for _, fault := range faults {
		if fault, given := fault.(map[string]any); given && fault["statusCode"] == nil && fault["connection"] == nil {
			fault["connection"] = "Truncate"
		}
	}
}
