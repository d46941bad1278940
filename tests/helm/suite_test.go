// Package helm tests that Helm 3 and Helm 4 install, upgrade, roll back, and uninstall the chart with the commands in
// docs/how-to/install.md. The specs use temporary releases, which are built from the source tree and stored in the test cluster's registry.
// `make e2e-helm` runs the specs.
package helm

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	operatorNamespace = "echo-operator-system"
	// installPage is the documentation page with the commands that the specs run. The page is part of each release.
	installPage = "docs/how-to/install.md"
	definition  = "crd/echoes.example.com"
)

func TestHelm(t *testing.T) {
	realcluster.RunClusterSpecs(t, "Helm", "e2e-helm", 3*time.Minute, 500*time.Millisecond)
}

// program is the name of the tool set that contains a version of Helm.
type program string

const (
	helm3 program = "helm"
	helm4 program = "helm4"
)

// run runs the commands in install.md that set names, and then the given commands with this Helm version, in one shell. In this shell, the
// public registry name refers to the test cluster's registry.
func (p program) run(ctx context.Context, commands string) {
	GinkgoHelper()
	names := realcluster.Documented(realcluster.ReleasedVersion(0), installPage, "## Names in the commands")
	support.Run(ctx, names+`helm() { (cd ../.. && tests/olm/with-registry "$(tools/build `+string(p)+`)/helm" "$@"); }`+"\n"+commands)
}

// installation returns the documented commands that install a version.
func installation(version string) string {
	GinkgoHelper()
	return ofVersion(realcluster.Documented(version, installPage, "## With Helm"), version)
}

// takeover returns the documented commands that take over an existing installation.
func (p program) takeover(version string) string {
	GinkgoHelper()
	return p.forced(ofVersion(realcluster.Documented(version, installPage, "With `--take-ownership`"), version))
}

// forced returns commands that also overwrite fields that kubectl manages. Helm 3 overwrites these fields automatically.
func (p program) forced(commands string) string {
	GinkgoHelper()
	if p == helm3 {
		return commands
	}
	return realcluster.Changed(commands, " --wait", " --force-conflicts --wait")
}

// ofVersion returns commands that install the given version instead of the latest version.
func ofVersion(commands, version string) string {
	GinkgoHelper()
	return realcluster.Changed(commands, "charts/echo-operator ", "charts/echo-operator --version "+version+" ")
}

// upgrade returns the documented commands that upgrade to a version.
func upgrade(version string) string {
	GinkgoHelper()
	return realcluster.Changed(realcluster.Documented(version, installPage, "## Upgrading with Helm"), "version=1.2.3", "version="+version)
}

// uninstall follows the documented steps, and expects them to delete all of the operator's objects.
func (p program) uninstall(ctx context.Context) {
	GinkgoHelper()
	p.run(ctx, realcluster.Documented(realcluster.ReleasedVersion(0), installPage, "## Uninstalling with Helm"))
	Eventually(left).WithContext(ctx).Should(BeEmpty())
}

// left returns the operator's remaining objects.
func left(ctx context.Context) ([]string, error) {
	all, err := realcluster.TryKubectl(ctx, "get",
		"crd,clusterrole,clusterrolebinding,role,rolebinding,namespace,pod,deployment,poddisruptionbudget,service,networkpolicy",
		"-A", "-o", "name")
	return slices.DeleteFunc(strings.Split(all, "\n"), func(name string) bool {
		return !strings.Contains(name, "echo") || strings.HasPrefix(name, "pod/prober-")
	}), err
}

// The operator is not installed when a spec or an Ordered container starts, regardless of how the previous one ended.
var _ = BeforeEach(func(ctx SpecContext) {
	removeOperator(ctx)
	DeferCleanup(removeOperator, NodeTimeout(6*time.Minute))
}, OncePerOrdered, NodeTimeout(6*time.Minute))

func removeOperator(ctx context.Context) {
	GinkgoHelper()
	version := realcluster.ReleasedVersion(0)
	support.Run(ctx, `set +e
		`+realcluster.Documented(version, installPage, "## Removing finalizers")+`
		kubectl delete -n default deployment,service,poddisruptionbudget test-echo --ignore-not-found
		kubectl delete -f `+realcluster.ReleasedFile(version, "install.yaml")+` --ignore-not-found --wait=false
		kubectl delete rolebinding -n default echo-operator-manager-rolebinding --ignore-not-found
		kubectl wait --for=delete --timeout=2m `+definition+` namespace/`+operatorNamespace+`
		true`)
	Eventually(left).WithContext(ctx).Should(BeEmpty())
}

// operator runs kubectl commands in the operator's namespace.
func operator(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return realcluster.Kubectl(ctx, append([]string{"-n", operatorNamespace}, arguments...)...)
}

// awaitOperatorGone waits until the operator's process has exited.
func awaitOperatorGone(ctx context.Context) {
	GinkgoHelper()
	operator(ctx, "wait", "--for=delete", "deployment/echo-operator-controller-manager", realcluster.WaitTimeout)
	operator(ctx, "wait", "--for=delete", "pod", "-l", "control-plane=controller-manager", realcluster.WaitTimeout)
}

// sample returns the value at a path in the sample Echo.
func sample(ctx context.Context, path string) (string, error) {
	return realcluster.TryKubectl(ctx, "get", "-n", "default", "echo/test-echo", "--ignore-not-found", "-o", "jsonpath={"+path+"}")
}

var _ = realcluster.ShowAfterFailure(
	"get secrets -n "+operatorNamespace,
	"get crd echoes.example.com -o jsonpath={.metadata}{.status}",
	"get echoes -A -o yaml",
	"get namespaces,deployments,replicasets,services,pods -A -o wide",
	"get events -A --sort-by=.lastTimestamp",
	"logs -n "+operatorNamespace+" -l control-plane=controller-manager --prefix --tail=50",
)
