package objects

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestEnvironment(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Port = 9000
		e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_HTTP_ADDR", Value: ":9"}, {Name: "B", Value: "b"}}
	})
	env := environment(echo, true, serviceEnvironment(echo))
	var names []string
	for _, e := range env {
		names = append(names, *e.Name)
	}
	want := []string{"POD_NAME", "POD_NAMESPACE", "POD_IP", "NODE_NAME", "HOST_IP", "SERVICE_NAME", "ECHO_ADMIN_ADDR", "ECHO_HTTP_ADDR", "B"}
	g.Expect(names).To(HaveExactElements(want))
	g.Expect(valueOf(env, "ECHO_HTTP_ADDR")).To(Equal(":9"), "the Echo's value must take precedence")
	echo.Spec.Env = nil
	g.Expect(valueOf(environment(echo, true, nil), "ECHO_HTTP_ADDR")).To(Equal(":9000"))
	g.Expect(valueOf(environment(echo, false, nil), "ECHO_HTTP_ADDR")).To(BeEmpty(), "another image gets ECHO_HTTP_ADDR")
}

// TestEnvironment_omitsServerDefaults checks that only fields with non-default values become variables. The pods of Echoes without such
// values must not change.
func TestEnvironment_omitsServerDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		wanted v1.EchoServer
		want   [2]string // the values of ECHO_CONTROLS and ECHO_IDENTITY
	}{
		"not configured":       {v1.EchoServer{}, [2]string{}},
		"defaults":             {v1.EchoServer{Controls: v1.ControlsSafe, Identity: new(true)}, [2]string{}},
		"all controls":         {v1.EchoServer{Controls: v1.ControlsFull}, [2]string{"Full", ""}},
		"for the open network": {v1.EchoServer{Controls: v1.ControlsNone, Identity: new(false)}, [2]string{"None", "false"}},
	} {
		env := environment(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Server = c.wanted }), false, nil)
		NewWithT(t).Expect([2]string{valueOf(env, "ECHO_CONTROLS"), valueOf(env, "ECHO_IDENTITY")}).To(Equal(c.want), name)
	}
}

func valueOf(env []*corev1ac.EnvVarApplyConfiguration, name string) string {
	for _, e := range env {
		if *e.Name == name && e.Value != nil {
			return *e.Value
		}
	}
	return ""
}

func TestResponse(t *testing.T) {
	type env = map[string]string
	for name, c := range map[string]struct {
		wanted *v1.EchoResponse
		want   env
	}{
		"not configured": {nil, env{}},
		"empty":          {&v1.EchoResponse{}, env{}},
		"a status":       {&v1.EchoResponse{StatusCode: 503}, env{"ECHO_RESPONSE_STATUS": "503"}},
		"a delay":        {&v1.EchoResponse{DelayMilliseconds: 30000}, env{"ECHO_RESPONSE_DELAY": "30000ms"}},
		"a body":         {&v1.EchoResponse{Body: "a\nb"}, env{"ECHO_RESPONSE_BODY": "a\nb"}},
		"headers": {&v1.EchoResponse{Headers: []v1.EchoHeader{{Name: "X-A", Value: `a "b"`}, {Name: "X-A"}}},
			env{"ECHO_RESPONSE_HEADERS": `[{"name":"X-A","value":"a \"b\""},{"name":"X-A"}]`}},
		"faults": {
			&v1.EchoResponse{Faults: []v1.EchoFault{{Percentage: 100, StatusCode: 503, Failures: 2},
				{Percentage: 5, Connection: v1.ConnectionReset}}},
			env{"ECHO_RESPONSE_FAULTS": `[{"percentage":100,"statusCode":503,"failures":2},{"percentage":5,"connection":"Reset"}]`}},
		"a range of delays": {&v1.EchoResponse{Faults: []v1.EchoFault{{Percentage: 100, DelayMilliseconds: 10, MaxDelayMilliseconds: 90}}},
			env{"ECHO_RESPONSE_FAULTS": `[{"percentage":100,"delayMilliseconds":10,"maxDelayMilliseconds":90}]`}},
		"a reference in the body": {&v1.EchoResponse{Body: "$(POD_NAME) costs $5, $$"},
			env{"ECHO_RESPONSE_BODY": "$$(POD_NAME) costs $$5, $$$$"}},
		"a reference in a header": {&v1.EchoResponse{Headers: []v1.EchoHeader{{Name: "X-$", Value: "$(HOST_IP)"}}},
			env{"ECHO_RESPONSE_HEADERS": `[{"name":"X-$$","value":"$$(HOST_IP)"}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := env{}
			for _, e := range response(c.wanted) {
				got[*e.Name] = *e.Value
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}

// TestResponse_longestFitsIntoContainer checks the longest response that the schema accepts. Linux limits each environment variable to 128
// KiB, and a container with a longer variable cannot be started.
func TestResponse_longestFitsIntoContainer(t *testing.T) {
	quotes := v1.EchoHeader{Name: "a", Value: strings.Repeat(`"`, 1874)} // 32 such headers have 60,000 bytes in total
	all := append(response(&v1.EchoResponse{Body: strings.Repeat("$", 65536)}),
		response(&v1.EchoResponse{Body: strings.Repeat("語", 43666), Headers: slices.Repeat([]v1.EchoHeader{quotes}, 32)})...)
	for _, e := range all {
		started := strings.ReplaceAll(*e.Value, "$$", "$") // as the kubelet expands the value
		if size := len(*e.Name + "=" + started + "\x00"); size > 128*1024 {
			t.Errorf("%s has %d bytes", *e.Name, size)
		}
	}
}
