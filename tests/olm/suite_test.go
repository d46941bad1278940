// Package olm tests that the operator is installed, set up, upgraded and taken away by a real OLM, by the words of docs/install.md
// as throwaway releases of the tree have them. `make e2e-olm` runs what every change must pass, `make e2e-olm-all` everything.
package olm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	operatorNamespace = "echo-operator-system"
	// waitTimeout is how long kubectl waits: a machine whose cores are busy takes minutes for what takes seconds on others.
	waitTimeout = "--timeout=3m"
)

func TestOLM(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "OLM")
}

var _ = ReportAfterSuite("the time of each step", func(report Report) {
	fmt.Println()
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType.Is(types.NodeTypeIt) && spec.State.Is(types.SpecStatePassed) {
			fmt.Printf("%6.1f s  %s\n", spec.RunTime.Seconds(), spec.FullText())
		}
	}
})

// version is that of the throwaway release of an order; tools/release/throwaway has made them.
func version(order int) string {
	GinkgoHelper()
	versions := strings.Fields(os.Getenv("VERSIONS"))
	Expect(len(versions)).To(BeNumerically(">", order), "run the suite by its make target, which makes the releases")
	return versions[order]
}

// released is the path of something that a release has for people.
func released(version string, path ...string) string {
	return filepath.Join(append([]string{os.Getenv("CACHE"), "releases", version}, path...)...)
}

// documented is the first block of commands after a text in a release's install.md.
func documented(version, after string) string {
	GinkgoHelper()
	return support.Documented(released(version, "install.md"), after)
}

// changed is a text in which something that must be there is something else.
func changed(text, from, to string) string {
	GinkgoHelper()
	Expect(text).To(ContainSubstring(from))
	return strings.Replace(text, from, to, 1)
}

// run runs commands as somebody would who pastes them.
func run(ctx context.Context, commands string) {
	GinkgoHelper()
	support.Run(ctx, commands)
}

// kubectl asks about something in the operator's namespace.
func kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return support.Kubectl(ctx, append([]string{"-n", operatorNamespace}, arguments...)...)
}

// createEcho creates the sample in a namespace.
func createEcho(ctx context.Context, namespace string) {
	GinkgoHelper()
	text, err := os.ReadFile("../../config/samples/v1_echo.yaml")
	Expect(err).NotTo(HaveOccurred())
	support.KubectlInput(ctx, changed(string(text), "namespace: default", "namespace: "+namespace), "apply", "-f", "-")
}

func waitReady(ctx context.Context, namespace string) {
	GinkgoHelper()
	support.Kubectl(ctx, "wait", "-n", namespace, "--for=condition=Ready", "echo/test-echo", waitTimeout)
}

// startProber sends requests to the sample until it is stopped.
func startProber(ctx context.Context) support.Prober {
	GinkgoHelper()
	return support.StartProber(ctx, "default", "http://test-echo.default.svc", "--count=1000000", "--interval=5ms", "--duration=2h")
}

// echoPods are the names of the sample's pods.
func echoPods(ctx context.Context) string {
	GinkgoHelper()
	return support.Kubectl(ctx, "get", "pods", "-n", "default", "-l", "app.kubernetes.io/instance=test-echo", "-o", "name")
}

// upgrade points the catalog at another version and waits for it, as install.md says.
func upgrade(ctx context.Context, to string) {
	GinkgoHelper()
	run(ctx, changed(documented(to, "## Upgrading, with OLM"), "version=1.2.3", "version="+to))
	expectSucceeded(ctx, to)
}

// expectSucceeded waits until a version is there and no other.
func expectSucceeded(ctx context.Context, version string) {
	GinkgoHelper()
	Eventually(kubectl).WithContext(ctx).WithArguments("get", "csv", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status.phase};{end}").
		Should(Equal("echo-operator.v" + version + " Succeeded;"))
}

// pointCatalogAt lets OLM see the versions up to one.
func pointCatalogAt(ctx context.Context, version string) {
	GinkgoHelper()
	support.Kubectl(ctx, "patch", "catalogsource", "echo-operator", "-n", "olm", "--type=merge", "-p",
		`{"spec": {"image": "quay.io/echo-operator/echo-operator-catalog:v`+version+`"}}`)
}

// expectNothingLeft expects that nothing in the cluster has to do with the operator.
func expectNothingLeft(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) []string {
		all := support.Kubectl(ctx, "get", "crd,clusterrole,clusterrolebinding,namespace,operators.operators.coreos.com,catalogsource,pod,deployment,service",
			"-A", "-o", "name")
		return slices.DeleteFunc(strings.Split(all, "\n"), func(name string) bool { return !strings.Contains(name, "echo") })
	}).WithContext(ctx).Should(BeEmpty())
}

// uninstall goes the documented steps, whose Echoes may be gone already, and expects them to be all that it takes.
func uninstall(ctx context.Context) {
	GinkgoHelper()
	run(ctx, documented(version(0), "## Uninstalling, with OLM"))
	expectNothingLeft(ctx)
}

// awaitOperatorGone waits until the operator's process has ended, which is later than the end of its Deployment.
func awaitOperatorGone(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "wait", "--for=delete", "deployment/echo-operator-controller-manager", waitTimeout)
	kubectl(ctx, "wait", "--for=delete", "pod", "-l", "control-plane=controller-manager", waitTimeout)
}
