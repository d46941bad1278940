package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an image that is in no registry", func() {
	It("runs under its tag after containerd has imported its archive, as kind does", func(ctx SpecContext) {
		const socket, image = "/run/echo-cluster/containerd.sock", "quay.io/echo-operator/echo-server:from-an-archive"
		if _, err := os.Stat(socket); err != nil {
			Skip("the cluster's container runtime is not reachable")
		}
		run := func(program string, arguments ...string) {
			GinkgoHelper()
			command := exec.CommandContext(ctx, program, arguments...)
			command.Dir = support.Root()
			output, err := command.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(output))
		}
		archive := filepath.Join(GinkgoT().TempDir(), "echo-server.tar")
		run("tools/make/image", "echo-server", "archive", archive, image)
		run("ctr", "--address="+socket, "--namespace=k8s.io", "images", "import",
			"--all-platforms", "--digests", "--snapshotter=overlayfs", archive)

		echo := support.Echo(namespaces.New(ctx), "archive", func(e *v1.Echo) { e.Spec.Image = image })
		createReady(ctx, echo)
		Expect(pods(ctx, Default, echo)[0].Spec.Containers[0].Image).To(Equal(image))
		Expect(probe(ctx, echo, "--count=20").Failed).To(BeZero())
	}, SpecTimeout(8*time.Minute))
})
