package server

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

// TestIdentify gives each variable a value of its own, and only variables that a mistake might show by accident beside them.
func TestIdentify(t *testing.T) {
	known := map[string]string{"POD_NAMESPACE": "a namespace", "INGRESS_NAME": "an ingress", "SERVICE_NAME": "a service", "POD_NAME": "a pod",
		"NODE_NAME": "a node", "POD_IP": "a pod IP", "HOST_IP": "a host IP"}
	full := identity{Namespace: "a namespace", Ingress: "an ingress", Service: "a service", Pod: "a pod", Node: "a node", PodIP: "a pod IP",
		HostIP: "a host IP", Info: map[string]string{}}
	for name, c := range map[string]struct {
		more map[string]string
		info map[string]string
	}{
		"no information":         {nil, nil},
		"information":            {map[string]string{"ECHO_INFO_COLOUR": "blue", "ECHO_INFO_region": "north"}, map[string]string{"COLOUR": "blue", "region": "north"}},
		"an empty value":         {map[string]string{"ECHO_INFO_A": ""}, map[string]string{"A": ""}},
		"an empty name":          {map[string]string{"ECHO_INFO_": "x"}, map[string]string{"": "x"}},
		"only the first prefix":  {map[string]string{"ECHO_INFO_ECHO_INFO_A": "x"}, map[string]string{"ECHO_INFO_A": "x"}},
		"a prefix in lower case": {map[string]string{"echo_info_A": "x"}, nil},
		"the prefix elsewhere":   {map[string]string{"MY_ECHO_INFO_A": "x", "ECHO_INFO": "x", "ECHO_INF_O": "x"}, nil},
		"other variables":        {map[string]string{"PATH": "x", "POD_SECRET": "x", "NODE": "x", "pod_name": "x", "": "x"}, nil},
	} {
		env := maps.Clone(known)
		maps.Copy(env, c.more)
		want := full
		if c.info != nil {
			want.Info = c.info
		}
		if diff := cmp.Diff(want, identify(env)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(identity{Info: map[string]string{}}, identify(nil)); diff != "" {
		t.Errorf("without variables (-want +got):\n%s", diff)
	}
}

// TestIdentityOff looks for everything that tells where the server runs, in all formats.
func TestIdentityOff(t *testing.T) {
	environ := []string{"POD_NAME=a-pod", "POD_NAMESPACE=a-namespace", "POD_IP=10.1.1.1", "NODE_NAME=a-node", "HOST_IP=10.2.2.2", "SERVICE_NAME=a-service",
		"INGRESS_NAME=an-ingress", "ECHO_INFO_COLOUR=blue"}
	secrets := []string{"a-pod", "a-namespace", "10.1.1.1", "a-node", "10.2.2.2", "a-service", "an-ingress", `"version"`, "version: ", `"uptime"`, "192.0.2.1"}
	for _, format := range []string{"json", "text", "html"} {
		shown := echotest.Record(handlerOf(t, environ...), "/?echo.format="+format).Body.String()
		hidden := echotest.Record(handlerOf(t, append(environ, "ECHO_IDENTITY=false")...), "/?echo.format="+format).Body.String()
		for _, secret := range secrets {
			if strings.Contains(hidden, secret) {
				t.Errorf("%s: %s is shown", format, secret)
			}
		}
		if !strings.Contains(hidden, "blue") || !strings.Contains(shown, "a-pod") {
			t.Errorf("%s: with identity %s, without %s", format, shown, hidden)
		}
	}
	if got := decode(t, echotest.Record(handlerOf(t, "ECHO_IDENTITY=false"), "/").Body.String()); got.Port != "8080" || got.Request.ID == "" {
		t.Errorf("too much is hidden: %+v", got)
	}
}

// TestProxiesAreHidden sends requests from 192.0.2.1: only the address of a client that a trusted proxy reports is shown.
func TestProxiesAreHidden(t *testing.T) {
	for name, c := range map[string]struct{ trusted, forwarded, want string }{
		"no trusted proxy":             {"", "10.0.0.1", ""},
		"a client":                     {"192.0.2.1", "203.0.113.5", "203.0.113.5"},
		"a client of several":          {"192.0.2.1,10.0.0.0/8", "203.0.113.5, 10.0.0.2", "203.0.113.5"},
		"only trusted proxies":         {"192.0.2.1,10.0.0.0/8", "10.0.0.1, 10.0.0.2", ""},
		"a trusted proxy that is mute": {"192.0.2.1", "", ""},
		"a client that is hidden":      {"192.0.2.1", "unknown", ""},
	} {
		h := handlerOf(t, "ECHO_IDENTITY=false", "ECHO_TRUSTED_PROXIES="+c.trusted)
		got := decode(t, echotest.Record(h, "/", "X-Forwarded-For", c.forwarded).Body.String()).Client
		if got.Address != c.want || got.Remote != "" {
			t.Errorf("%s: the client is %+v, want %q", name, got, c.want)
		}
	}
}
