package echopod

import (
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
