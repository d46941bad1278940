package watch

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestKind_summarizesObjects(t *testing.T) {
	for name, c := range map[string]struct{ kind, object, want string }{
		"a pod that waits for a node": {"pods", `{status: {phase: Pending}}`, "Pending"},
		"a pod on its node":           {"pods", `{spec: {nodeName: node-1}, status: {phase: Running}}`, "Running on node-1"},
		"a pod that was just created": {"pods", `{}`, ""},
		"a node": {"nodes",
			`{status: {conditions: [{type: DiskPressure, status: "False"}, {type: Ready, status: "True"}]}}`, "Ready"},
		"a node that is gone, cordoned": {"nodes", `{spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: Unknown}]}}`,
			"NotReady, unschedulable"},
		"a node that was just created":  {"nodes", `{}`, "NotReady"},
		"a deployment":                  {"deployments", `{spec: {replicas: 3}, status: {readyReplicas: 2}}`, "2/3 ready"},
		"an echo":                       {"echoes", `{spec: {replicas: 3}, status: {phase: Updating, readyReplicas: 2}}`, "Updating 2/3 ready"},
		"an Echo that was just created": {"echoes", `{spec: {replicas: 3}}`, "0/3 ready"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			k, err := kindOf([]string{c.kind})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(k.summary(state(t, c.object).Object)).To(Equal(c.want))
		})
	}
}
