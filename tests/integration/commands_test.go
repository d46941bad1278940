package integration

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = It("the command watch prints an Echo from creation to deletion, but does not print variables", func(ctx SpecContext) {
	server, c := startCluster() // no operator is running, so only the test changes objects
	environment := []string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig)}
	session, asJSON := startProgram(environment, "watch", "echoes"), startProgram(environment, "watch", "-o", "json", "echoes")
	echo := support.Echo("default", "life", func(e *v1.Echo) { e.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "secret-1"}} })
	Expect(c.Create(ctx, echo)).To(Succeed())
	Eventually(session).Should(gbytes.Say(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)  ADDED    default/life  0/2 ready\n`))
	Eventually(asJSON).Should(gbytes.Say(`"type":"ADDED"`)) // both watches have started now

	echo.Status.Phase, echo.Status.ReadyReplicas = v1.PhaseReady, 2
	Expect(c.Status().Update(ctx, echo)).To(Succeed())
	Eventually(session).Should(gbytes.Say(`UPDATED  default/life  Ready 2/2 ready\n`))
	echo.Spec.Replicas, echo.Spec.Env[0].Value = new(int32(3)), "secret-2"
	Expect(c.Update(ctx, echo)).To(Succeed())
	Eventually(session).Should(gbytes.Say(`UPDATED  default/life  Ready 2/3 ready\n`))
	Expect(c.Delete(ctx, echo)).To(Succeed())
	Eventually(session).Should(gbytes.Say(`DELETED  default/life  Ready 2/3 ready\n`))
	Eventually(asJSON).Should(gbytes.Say(`"type":"DELETED"`))
	for _, text := range []string{string(session.Out.Contents()), string(asJSON.Out.Contents())} {
		Expect(text).NotTo(Or(ContainSubstring("secret-"), ContainSubstring("PASSWORD")))
	}
	Expect(session.Err.Contents()).To(BeEmpty())
	session.Signal(syscall.SIGTERM)
	asJSON.Signal(syscall.SIGINT)
	Eventually(session).Should(gexec.Exit(0))
	Eventually(asJSON).Should(gexec.Exit(0))
})
