// Package olm runs the commands in docs/how-to/install.md to test that a real OLM installs, configures, upgrades, and uninstalls the
// operator. The specs use temporary releases of the source tree. `make e2e-olm` runs the specs that every change must pass, and
// `make e2e-olm-all` runs the others. `make e2e-release` verifies signed releases, and installs them with all documented methods.
package olm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	operatorNamespace = "echo-operator-system"
	// installPage is the documentation page with the commands that the specs run. The page is part of each release.
	installPage = "docs/how-to/install.md"
	waitTimeout = realcluster.WaitTimeout
)

func TestOLM(t *testing.T) {
	realcluster.RunClusterSpecs(t, "OLM", "e2e-olm", 3*time.Minute, 500*time.Millisecond)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	k8s, err = support.NewClient(0)
	Expect(err).NotTo(HaveOccurred())
	restrict(ctx)
}, NodeTimeout(2*time.Minute))

// restrict imposes OpenShift's restrictions on all pods, including the pods of catalogs, bundles, and scorecard.
func restrict(ctx context.Context) {
	GinkgoHelper()
	const policies = "../support/openshift/restricted-v2.yaml"
	realcluster.Kubectl(ctx, "apply", "--server-side", "-f", policies)
	DeferCleanup(func(ctx SpecContext) { realcluster.Kubectl(ctx, "delete", "-f", policies) }, NodeTimeout(time.Minute))
	Eventually(realcluster.TryKubectl).WithContext(ctx).
		WithArguments("run", "x", "-n", "default", "--image=x", "--dry-run=server", "-o", "jsonpath={.metadata.annotations}").
		Should(ContainSubstring(`"openshift.io/scc":"restricted-v2"`))
}

var _ = ReportAfterSuite("the time of each step", func(report Report) {
	fmt.Println()
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType.Is(types.NodeTypeIt) && spec.State.Is(types.SpecStatePassed) {
			fmt.Printf("%6.1f s  %s\n", spec.RunTime.Seconds(), spec.FullText())
		}
	}
})

// version and changed are short names for functions that all release suites share.
func version(order int) string {
	GinkgoHelper()
	return realcluster.ReleasedVersion(order)
}

func changed(text, from, to string) string {
	GinkgoHelper()
	return realcluster.Changed(text, from, to)
}

// installation returns the documented commands that install a version from a catalog that has no later versions.
func installation(version string) string {
	GinkgoHelper()
	return changed(realcluster.Documented(version, installPage, "## With OLM, from a catalog"), "echo-operator-catalog:latest", "echo-operator-catalog:v"+version)
}

// upgradeByOLM returns the documented commands that upgrade to a version.
func upgradeByOLM(version string) string {
	GinkgoHelper()
	return changed(realcluster.Documented(version, installPage, "## Upgrading with OLM"), "version=1.2.3", "version="+version)
}

// withoutWaiting returns the commands of an installation, but omits the commands that wait.
func withoutWaiting(commands string) string {
	applied, _, _ := strings.Cut(commands, "\nkubectl wait")
	return applied
}

// run runs the commands in install.md that set variables, and then the given commands, in one shell.
func run(ctx context.Context, commands string) {
	GinkgoHelper()
	support.Run(ctx, realcluster.Documented(version(0), installPage, "## Names in the commands")+commands)
}

// publish moves the `latest` tag, which the catalog follows, to the catalog image of the given version.
func publish(ctx context.Context, version string) {
	GinkgoHelper()
	run(ctx, "cd ../.. && $(tools/build image)/crane tag "+clusterRegistry+"/echo-operator/echo-operator-catalog:v"+version+" latest")
}

// kubectl runs kubectl commands in the operator's namespace.
func kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return realcluster.Kubectl(ctx, append([]string{"-n", operatorNamespace}, arguments...)...)
}

// tryKubectl is like kubectl, but returns an error instead of failing the test, so that Eventually can retry the command.
func tryKubectl(ctx context.Context, arguments ...string) (string, error) {
	return realcluster.TryKubectl(ctx, append([]string{"-n", operatorNamespace}, arguments...)...)
}

// expectSucceeded waits until only the given version is installed.
func expectSucceeded(ctx context.Context, version string) {
	GinkgoHelper()
	Eventually(tryKubectl).WithContext(ctx).WithArguments("get", "csv", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status.phase};{end}").
		Should(Equal("echo-operator.v" + version + " Succeeded;"))
}

// pointCatalogAt makes OLM offer all versions up to the given one.
func pointCatalogAt(ctx context.Context, version string) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "patch", "catalogsource", "echo-operator", "-n", "olm", "--type=merge", "-p",
		`{"spec": {"image": "quay.io/echo-operator/echo-operator-catalog:v`+version+`"}}`)
}

// expectNothingLeft waits until none of the operator's objects are left.
func expectNothingLeft(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) ([]string, error) {
		all, err := realcluster.TryKubectl(ctx, "get",
			"crd,clusterrole,clusterrolebinding,namespace,operators.operators.coreos.com,catalogsource,pod,deployment,poddisruptionbudget,service",
			"-A", "-o", "name")
		return slices.DeleteFunc(strings.Split(all, "\n"), func(name string) bool { return !strings.Contains(name, "echo") }), err
	}).WithContext(ctx).Should(BeEmpty())
}

// uninstallation returns the documented commands that uninstall a version.
func uninstallation(version string) string {
	GinkgoHelper()
	return realcluster.Documented(version, installPage, "## Uninstalling with OLM")
}

// uninstall follows the documented steps, and expects them to delete all of the operator's objects.
func uninstall(ctx context.Context) {
	GinkgoHelper()
	run(ctx, uninstallation(version(0)))
	expectNothingLeft(ctx)
}

// awaitOperatorGone waits until the operator's process has exited, because the process outlives the operator's Deployment.
func awaitOperatorGone(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "wait", "--for=delete", "deployment/echo-operator-controller-manager", waitTimeout)
	kubectl(ctx, "wait", "--for=delete", "pod", "-l", "control-plane=controller-manager", waitTimeout)
}
