package olm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const clusterRegistry = "10.200.0.2:5000"

// mirror returns a path in the cluster's registry for copies of the images that the disconnected cluster needs. The path differs in each
// run, because the registry keeps its images.
func mirror() string { return fmt.Sprintf("%s/mirror-%d", clusterRegistry, time.Now().UnixNano()) }

var _ = Describe("a disconnected cluster", Label("all"), func() {
	It("needs the listed images, and OLM reports a missing image", func(ctx SpecContext) {
		images := listedImages(ctx)
		bundle := slices.IndexFunc(images, func(image string) bool { return strings.Contains(image, "-bundle@") })
		Expect(images).To(And(HaveLen(4), ContainElement(ContainSubstring("/echo-operator@")), ContainElement(ContainSubstring("/echo-server@")),
			ContainElement(ContainSubstring("/echo-operator-pathcheck@"))))
		Expect(bundle).NotTo(Equal(-1), "the list must contain the bundle: %v", images)
		mirror := mirror()
		disconnect(ctx, mirror)
		mirrorImages(ctx, mirror,
			append(slices.Delete(slices.Clone(images), bundle, bundle+1), "quay.io/echo-operator/echo-operator-catalog:v"+version(0))...)

		run(ctx, changed(withoutWaiting(installation(version(0))), "metadata: {name: echo-operator, namespace: $namespace}\nspec: {}",
			"metadata: {name: echo-operator, namespace: $namespace, annotations: {operatorframework.io/bundle-unpack-timeout: 20s}}\nspec: {}"))
		Eventually(subscriptionConditions).WithContext(ctx).Should(And(ContainSubstring("BundleUnpackFailed"),
			ContainSubstring("DeadlineExceeded")))
		mirrorImages(ctx, mirror, images[bundle])
		again := support.Documented("docs/reference/troubleshooting.md", "One annotation on the OperatorGroup makes OLM retry")
		run(ctx, changed(again, "min-retry-interval=5m", "min-retry-interval=10s"))
		for _, commands := range []string{support.Documented("docs/reference/troubleshooting.md", "### The log of OLM"),
			support.Documented("docs/reference/troubleshooting.md", "### Bundle unpacking")} {
			run(ctx, commands)
		}
		expectSucceeded(ctx, version(0))
		realcluster.CreateSample(ctx, "default")
		realcluster.AwaitSample(ctx, "default")
	}, SpecTimeout(15*time.Minute))
})

// listedImages returns the images that install.md lists for mirroring.
func listedImages(ctx context.Context) []string {
	GinkgoHelper()
	commands := changed(realcluster.Documented(version(0), installPage, "## In a disconnected cluster"), "echo-operator-catalog:latest",
		"echo-operator-catalog:v"+version(0))
	return strings.Fields(support.Run(ctx,
		"cd ../.. && PATH=$(tools/build opm):$PATH tests/olm/with-registry bash -euo pipefail -c "+quoted(commands)))
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func mirrorImages(ctx context.Context, mirror string, images ...string) {
	GinkgoHelper()
	for _, image := range images {
		name := strings.TrimPrefix(image, "quay.io/")
		run(ctx, "cd ../.. && $(tools/build image)/crane copy "+clusterRegistry+"/"+name+" "+mirror+"/"+name)
	}
}

// disconnect makes the node pull quay.io images only from the mirror until the spec ends. It copies OLM's images to the mirror, and deletes
// the operator's images from the node.
func disconnect(ctx context.Context, mirror string) {
	GinkgoHelper()
	deployments := realcluster.Kubectl(ctx, "get", "deployments", "-n", "olm", "-o", "yaml")
	ofOLM := regexp.MustCompile(`quay\.io/operator-framework/(olm|opm):[\w.]+`).FindAllString(deployments, -1)
	slices.Sort(ofOLM)
	mirrorImages(ctx, mirror, slices.Compact(ofOLM)...)
	folder := filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "registries", "quay.io")
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	DeferCleanup(os.RemoveAll, folder)
	host, path, _ := strings.Cut(mirror, "/")
	config := "server = \"http://" + host + "/v2/" + path + "\"\n[host.\"http://" + host + "/v2/" + path +
		"\"]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n"
	Expect(os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(config), 0o600)).To(Succeed())
	run(ctx, "ctr=(ctr --address=/run/echo-cluster/containerd.sock --namespace=k8s.io)\n"+
		`"${ctr[@]}" images list -q | sed -n "\|^quay.io/echo-operator/echo-|p" | xargs -r "${ctr[@]}" images remove --sync`)
}

// subscriptionConditions returns the conditions of all Subscriptions.
func subscriptionConditions(ctx context.Context) string {
	GinkgoHelper()
	return kubectl(ctx, "get", "subscriptions.operators.coreos.com", "-o",
		`jsonpath={range .items[*].status.conditions[?(@.status=="True")]}{.type} {.reason} {.message}{"\n"}{end}`)
}
