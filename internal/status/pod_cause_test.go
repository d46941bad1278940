package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "a\nb\n\n": "b", "\n": ""} {
		NewWithT(t).Expect(lastLine(text)).To(Equal(want), "lastLine(%q)", text)
	}
}

// TestPodCause_missingCertificate checks that the Echo is not degraded after the first crash, because the Secret may still be created. From
// the second crash on, the Echo is degraded, even between restarts.
func TestPodCause_missingCertificate(t *testing.T) {
	const (
		line = `echo-server: Secret \"certificate\" has no key tls.crt`
		said = `{exitCode: 1, message: "` + line + `"}`
		want = `Container echo of pod p terminated with exit code 1: "echo-server: Secret 'certificate' has no key tls.crt".`
		todo = " Create or correct the Secret certificate of type kubernetes.io/tls, or change spec.tls.secretName."
		logs = " Check spec.args and spec.env. Run 'kubectl logs --previous -n ns p -c echo' to see why."
	)
	for name, c := range map[string]struct {
		container, secret string
		message           string
		lasting           bool
	}{
		"the first time": {`name: echo, state: {terminated: ` + said + `}`, "certificate", want + todo, false},
		"started again": {`name: echo, restartCount: 1, state: {running: {}}, lastState: {terminated: ` + said + `}`,
			"certificate", want + todo, false},
		"the second time": {`name: echo, restartCount: 1, state: {terminated: ` + said + `}`, "certificate", want + todo, true},
		"waits": {
			`name: echo, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: ` + said + `}`, "certificate",
			want + todo, true},
		"started again, after a wait": {`name: echo, restartCount: 2, state: {running: {}}, lastState: {terminated: ` + said + `}`,
			"certificate", want + todo, true},
		"another Secret":      {`name: echo, restartCount: 2, state: {terminated: ` + said + `}`, "other", want + logs, false},
		"an Echo without TLS": {`name: echo, restartCount: 2, state: {terminated: ` + said + `}`, "", want + logs, false},
		"another container of the pod": {`name: mesh, restartCount: 2, state: {terminated: ` + said + `}`, "certificate",
			strings.Replace(want, "echo", "mesh", 1) + strings.NewReplacer("-c echo", "-c mesh", "Check spec.args and spec.env. ", "").Replace(logs), false},
		"another cause, with that name": {`name: echo, restartCount: 2, state: {terminated: {exitCode: 1, message: "certificate of the proxy"}}`,
			"certificate", `Container echo of pod p terminated with exit code 1: "certificate of the proxy".` + logs, false},
	} {
		pod := podWith(t, "p", `{phase: Running, containerStatuses: [{`+c.container+`}]}`)
		if c.secret != "" {
			pod.Spec.Volumes = []corev1.Volume{
				{Name: "tls", Secret: &corev1.SecretVolumeSource{SecretName: c.secret}}}
		}
		NewWithT(t).Expect(flat(podCause(&pod))).To(Equal(cause{reason: v1.ReasonPodsCrashing, problem: whole(c.message), lasting: c.lasting}), name)
	}
}
