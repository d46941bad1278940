package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("kubectl echo", func() {
	// plugin runs kubectl echo through kubectl, as users do, and returns the exit code and the output.
	plugin := func(ctx context.Context, arguments ...string) (int, string) {
		GinkgoHelper()
		bin, err := filepath.Abs(filepath.Join("..", "..", "bin", runtime.GOOS+"-"+runtime.GOARCH))
		Expect(err).NotTo(HaveOccurred())
		command := exec.CommandContext(ctx, "kubectl", append([]string{"echo"}, arguments...)...)
		command.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		GinkgoWriter.Println(string(output))
		if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
			Expect(err).NotTo(HaveOccurred(), string(output))
		}
		return command.ProcessState.ExitCode(), string(output)
	}

	It("sends requests to all pods, over HTTP and to a path, and shows the pods as a tree", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "three", func(e *v1.Echo) { e.Spec.Replicas = new(int32(3)) })
		createReady(ctx, echo)
		code, output := plugin(ctx, "test", echo.Name, "-n", echo.Namespace, "--requests=6", "--path=/some/path?x=1")
		Expect(code).To(Equal(0), output)
		Expect(output).To(HaveSuffix("\n6 requests, 0 failed; 3 of 3 ready pods responded\n"))
		status, tree := plugin(ctx, "status", echo.Name, "-n", echo.Namespace)
		Expect(status).To(Equal(0), tree)
		for _, pod := range pods(ctx, Default, echo) {
			Expect(output).To(MatchRegexp(`(?m)^` + pod.Name + `  200 OK  \d+`))
			Expect(tree).To(MatchRegexp(`(?m)^│   [├└]─Pod/` + pod.Name + ` +1/1 +Running +0 +` + pod.Spec.NodeName + ` `))
		}

		By("requesting a status that is a failure")
		code, output = plugin(ctx, "test", echo.Name, "-n", echo.Namespace, "--requests=1", "--path=/?echo.status=503")
		Expect(code).To(Equal(1), output)
		Expect(output).To(MatchRegexp(`(?m)^three-\S+  503 Service Unavailable  \d+`))
	}, SpecTimeout(8*time.Minute))

	It("reports why an image cannot be pulled, and that no pod can respond", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "broken", func(e *v1.Echo) {
			e.Spec.Replicas, e.Spec.Image = new(int32(1)), "quay.io/echo-operator/none:1" // only one pod, so that its warnings fit into the output
		})
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		expectCause(ctx, echo, v1.ReasonImagePullFailed, `Image quay.io/echo-operator/none:1 cannot be pulled`)
		Eventually(func(g Gomega) {
			code, output := plugin(ctx, "status", echo.Name, "-n", echo.Namespace)
			g.Expect(code).To(Equal(1), output)
			g.Expect(output).To(HavePrefix("Echo " + echo.Namespace + "/broken: Warning, 0/1 ready\n"))
			g.Expect(output).To(And(ContainSubstring(`Image quay.io/echo-operator/none:1 cannot be pulled`),
				MatchRegexp(`(?m)^Degraded +True +ImagePullFailed `), MatchRegexp(`Pod/broken-\S+ +0/1 +(ErrImagePull|ImagePullBackOff) `),
				MatchRegexp(`(?m) Pod/broken-\S+ +Failed +.*quay.io/echo-operator/none:1`)))
		}).WithContext(ctx).Should(Succeed())
		code, output := plugin(ctx, "test", echo.Name, "-n", echo.Namespace)
		Expect(code).To(Equal(2), output)
		Expect(output).To(HavePrefix(`error: the Service "broken" has no ready pods`))
	}, SpecTimeout(8*time.Minute))
})
