package olm

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// verifyPage is the page that contains the commands for verifying a release before installation.
const verifyPage = "docs/how-to/verify-a-release.md"

// reader represents a user who installs the operator with one of the documented methods. The user starts with an empty directory, and
// uses only the registry, the release page, and the documentation.
type reader struct {
	helm                        string // the tool set
	install, upgrade, uninstall func(version string) string
	folders, folder             string // folder contains the files of the most recently verified version
}

var _ = Describe("a signed release", Label("release"), func() {
	Context("by OLM", Ordered, (&reader{install: installation, upgrade: upgradeByOLM, uninstall: uninstallation}).specs)

	Context("by OLM v1", Ordered, func() {
		BeforeAll(func(ctx SpecContext) { run(ctx, "cd ../.. && tests/olm/install-olmv1") }, NodeTimeout(20*time.Minute))
		(&reader{install: installationByOLMv1, upgrade: upgradeByOLMv1, uninstall: func(version string) string {
			return realcluster.Documented(version, installPage, "## Uninstalling with OLM v1")
		}}).specs()
	})

	for _, helm := range []string{"helm", "helm4"} {
		Context("by "+helm, Ordered, (&reader{helm: helm, install: func(version string) string {
			return changed(realcluster.Documented(version, installPage, "## With Helm"), "charts/echo-operator ",
				"charts/echo-operator --version "+version+" ")
		}, upgrade: func(version string) string {
			return changed(realcluster.Documented(version, installPage, "## Upgrading with Helm"), "version=1.2.3", "version="+version)
		}, uninstall: func(version string) string {
			return realcluster.Documented(version, installPage, "## Uninstalling with Helm")
		}}).specs)
	}

	withoutOLM := func(version string) string { return realcluster.Documented(version, installPage, "## Without OLM") }
	Context("by install.yaml", Ordered, (&reader{install: withoutOLM, upgrade: withoutOLM, uninstall: func(version string) string {
		return realcluster.Documented(version, installPage, "## Uninstalling without OLM")
	}}).specs)
})

// specs defines the steps that the reader takes, in order.
func (r *reader) specs() {
	var before []string
	BeforeAll(func(ctx SpecContext) {
		var err error
		before, err = inventory(ctx)
		Expect(err).NotTo(HaveOccurred())
		r.folders = GinkgoT().TempDir()
	}, NodeTimeout(2*time.Minute))

	It("is verified", func(ctx SpecContext) { r.verify(ctx, version(0)) }, SpecTimeout(5*time.Minute))

	It("is installed, runs an Echo, and no image that is not signed", func(ctx SpecContext) {
		r.run(ctx, r.install(version(0)))
		r.run(ctx, support.Documented("docs/tutorials/first-echo.md", "## 2. Create an Echo"))
		r.expectSigned(ctx)
		Expect(inventory(ctx)).To(ContainElements("CustomResourceDefinition /echoes.example.com", "Echo default/test-echo"))
	}, SpecTimeout(10*time.Minute))

	It("is verified and upgraded without dropping requests", func(ctx SpecContext) {
		first := sampleImage(ctx)
		r.changeVersion(ctx, func() {
			r.verify(ctx, version(1))
			r.run(ctx, r.upgrade(version(1)))
		})
		r.expectSigned(ctx)
		if r.helm == "" {
			return
		}
		By("rolling back")
		back := realcluster.Documented(version(1), installPage, "To go back to the previous version")
		r.changeVersion(ctx, func() { r.run(ctx, back) })
		Expect(sampleImage(ctx)).To(Equal(first))
	}, SpecTimeout(15*time.Minute))

	It("is uninstalled, and the cluster has nothing that it did not have before", func(ctx SpecContext) {
		r.run(ctx, r.uninstall(version(1)))
		Eventually(func(ctx context.Context) ([]string, error) {
			after, err := inventory(ctx)
			return slices.DeleteFunc(after, func(object string) bool { return slices.Contains(before, object) }), err
		}).WithContext(ctx).Should(BeEmpty())
	}, SpecTimeout(10*time.Minute))
}

// run runs commands in the reader's directory. The commands use the copies of released files in that directory, and access the test
// cluster's registry by its public name over HTTPS.
func (r *reader) run(ctx context.Context, commands string) string {
	GinkgoHelper()
	for _, version := range []string{version(0), version(1), "$version"} {
		page := realcluster.ReleasedFile(version) + "/"
		commands = strings.NewReplacer("cat "+page, "cat ", "apply --server-side -f "+page, "apply --server-side -f ").Replace(commands)
	}
	names := realcluster.Documented(version(0), installPage, "## Names in the commands")
	path := ""
	if r.helm != "" {
		path = `PATH=$(tools/build ` + r.helm + `):$PATH `
	}
	return support.Run(ctx, "cd "+support.Root()+"\n"+path+"tests/olm/with-registry bash -euo pipefail -c "+
		quoted("cd "+r.folder+"\n"+names+commands))
}

// verify follows the documentation in an empty directory, and verifies every artifact that an installation needs. The notices must list
// every module in the bill of materials.
func (r *reader) verify(ctx context.Context, version string) {
	GinkgoHelper()
	r.folder = filepath.Join(r.folders, version)
	Expect(os.Mkdir(r.folder, 0o700)).To(Succeed())
	key, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("THROWAWAY_KEY")), "cosign.pub"))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(r.folder, "cosign.pub"), key, 0o600)).To(Succeed())

	download := realcluster.Documented(version, verifyPage, "## Download the files")
	support.Run(ctx, "cd "+r.folder+"\n"+strings.ReplaceAll(download, "/0.1.0/", "/"+version+"/"))
	image := realcluster.Documented(version, verifyPage, "## An image")
	for _, name := range []string{"echo-operator", "echo-server", "echo-operator-pathcheck", "echo-operator-bundle", "echo-operator-catalog"} {
		r.check(ctx, version, changed(image, "/echo-operator:", "/"+name+":"))
	}
	r.check(ctx, version, realcluster.Documented(version, verifyPage, "## The chart"))
	r.check(ctx, version, realcluster.Documented(version, verifyPage, "## The files"))

	r.check(ctx, version, realcluster.Documented(version, verifyPage, "## The bill of materials of an image"))
	notices := r.check(ctx, version, realcluster.Documented(version, verifyPage, "## The notices of an image"))
	for _, module := range r.modules() {
		Expect(notices).To(ContainSubstring(module))
	}
}

// check runs commands from verifyPage to verify a version, and returns their output.
func (r *reader) check(ctx context.Context, version, commands string) string {
	GinkgoHelper()
	signer := realcluster.Documented(version, verifyPage, "If you [built the release]")
	ofVersion := strings.NewReplacer("v0.1.0", "v"+version, ":0.1.0", ":"+version, "linux/amd64", "linux/"+runtime.GOARCH)
	return r.run(ctx, signer+ofVersion.Replace(commands))
}

// modules returns the Go modules in the downloaded bill of materials, in the form PATH@VERSION.
func (r *reader) modules() []string {
	GinkgoHelper()
	var bill struct {
		Packages []struct{ Name, VersionInfo string }
	}
	text := support.Read(filepath.Join(r.folder, "echo-operator_linux_"+runtime.GOARCH+".spdx.json"))
	Expect(json.Unmarshal([]byte(text), &bill)).To(Succeed())
	var modules []string
	for _, linked := range bill.Packages {
		if strings.Contains(linked.Name, "/") && !strings.Contains(linked.Name, "echo-operator") {
			modules = append(modules, linked.Name+"@"+linked.VersionInfo)
		}
	}
	Expect(len(modules)).To(BeNumerically(">", 10), "%s", text)
	return modules
}

// expectSigned expects each image in the pods of the operator and its Echo to be pinned to a digest and signed.
func (r *reader) expectSigned(ctx context.Context) {
	GinkgoHelper()
	const images = "jsonpath={.items[*].spec.containers[*].image}"
	running := strings.Fields(kubectl(ctx, "get", "pods", "-o", images) + " " +
		realcluster.Kubectl(ctx, "get", "pods", "-n", "default", "-l", realcluster.SampleSelector, "-o", images))
	slices.Sort(running)
	Expect(running).To(And(ContainElement(HavePrefix("quay.io/echo-operator/echo-operator@")),
		ContainElement(HavePrefix("quay.io/echo-operator/echo-server@")), HaveEach(ContainSubstring("@sha256:"))))
	commands := realcluster.Documented(version(0), verifyPage, "## An image")
	for _, image := range slices.Compact(running) {
		r.check(ctx, version(0), changed(commands, "quay.io/echo-operator/echo-operator:v0.1.0", image))
	}
}

// changeVersion changes the operator's version while requests are being sent, and waits until all pods of the Echo have been replaced.
func (r *reader) changeVersion(ctx context.Context, change func()) {
	GinkgoHelper()
	image, pods, prober := sampleImage(ctx), strings.Fields(realcluster.SamplePods(ctx)), realcluster.ProbeSample(ctx)
	change()
	realcluster.AwaitSampleImage(ctx, And(HavePrefix("quay.io/echo-operator/echo-server@"), Not(Equal(image))))
	Eventually(func(ctx context.Context) []string { return strings.Fields(realcluster.SamplePods(ctx)) }).WithContext(ctx).
		Should(And(HaveLen(2), Not(ContainElement(BeElementOf(pods)))), "the old pods must have drained")
	seen := prober.Stop(ctx)
	AddReportEntry("requests", seen.Requests)
	Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
	Expect(len(seen.Pods)).To(BeNumerically(">", 2), "pods of both versions must have responded")
}

func sampleImage(ctx context.Context) string {
	GinkgoHelper()
	image, err := realcluster.SampleImage(ctx)
	Expect(err).NotTo(HaveOccurred())
	return image
}

// inventory returns all objects in the cluster, except objects of kinds that change even if nothing is installed.
func inventory(ctx context.Context) ([]string, error) {
	kinds, err := realcluster.TryKubectl(ctx, "api-resources", "--verbs=list", "-o", "name")
	if err != nil {
		return nil, err
	}
	lasting := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool {
		return slices.Contains([]string{"componentstatuses", "events", "events.events.k8s.io", "leases.coordination.k8s.io"}, kind)
	})
	objects, err := realcluster.TryKubectl(ctx, "get", strings.Join(lasting, ","), "-A", "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`)
	return strings.Split(strings.TrimSpace(objects), "\n"), err
}
