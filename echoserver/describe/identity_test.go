package describe

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIdentify gives each variable a distinct value, and adds variables that a bug might expose.
func TestIdentify(t *testing.T) {
	known := map[string]string{"POD_NAMESPACE": "a namespace", "INGRESS_NAME": "an ingress", "SERVICE_NAME": "a service", "POD_NAME": "a pod",
		"NODE_NAME": "a node", "POD_IP": "a pod IP", "HOST_IP": "a host IP"}
	full := Identity{Namespace: "a namespace", Ingress: "an ingress", Service: "a service", Pod: "a pod", Node: "a node", PodIP: "a pod IP",
		HostIP: "a host IP", Info: map[string]string{}}
	for name, c := range map[string]struct {
		more map[string]string
		info map[string]string
	}{
		"no information": {nil, nil},
		"information": {map[string]string{"ECHO_INFO_COLOR": "blue", "ECHO_INFO_region": "north"},
			map[string]string{"COLOR": "blue", "region": "north"}},
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
		if diff := cmp.Diff(want, Identify(env)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(Identity{Info: map[string]string{}}, Identify(nil)); diff != "" {
		t.Errorf("without variables (-want +got):\n%s", diff)
	}
}
