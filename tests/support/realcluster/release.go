package realcluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/fences"
)

// WaitTimeout is the kubectl flag that limits how long kubectl waits. What takes seconds on an idle machine may take minutes on a busy one.
const WaitTimeout = "--timeout=3m"

// ReleasedVersion returns the version of the throwaway release with the given index. tools/release/throwaway builds these releases.
func ReleasedVersion(order int) string {
	GinkgoHelper()
	versions := strings.Fields(os.Getenv("VERSIONS"))
	Expect(len(versions)).To(BeNumerically(">", order), "VERSIONS must contain the throwaway releases that the make target builds")
	return versions[order]
}

// ReleasedFile returns the path of a file in a release.
func ReleasedFile(version string, path ...string) string {
	return filepath.Join(append([]string{os.Getenv("CACHE"), "releases", version}, path...)...)
}

// Documented returns the first commands after the given text on a page of a release. In these commands, it replaces the URLs of release
// files with paths to the throwaway release's files.
func Documented(version, page, after string) string {
	GinkgoHelper()
	text, err := os.ReadFile(ReleasedFile(version, filepath.Base(page)))
	Expect(err).NotTo(HaveOccurred())
	found := fences.After(string(text), after)
	Expect(found).To(HaveLen(1), "%s has no commands after %q", page, after)
	const releases = "https://github.com/echo-operator/echo-operator/releases"
	return strings.NewReplacer("curl -fsSL ", "cat ", releases+"/latest/download", ReleasedFile(version), releases+"/download/v",
		ReleasedFile("")+"/").Replace(found[0].Text)
}

// Changed replaces the first occurrence of a substring, and returns the result. The text must contain the substring.
func Changed(text, from, to string) string {
	GinkgoHelper()
	Expect(text).To(ContainSubstring(from))
	return strings.Replace(text, from, to, 1)
}

// CreateSample creates the sample Echo in a namespace.
func CreateSample(ctx context.Context, namespace string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(support.Root(), "config/samples/v1_echo.yaml"))
	Expect(err).NotTo(HaveOccurred())
	KubectlInput(ctx, Changed(string(text), "namespace: default", "namespace: "+namespace), "apply", "-f", "-")
}

// AwaitSample waits until the sample Echo in a namespace is ready.
func AwaitSample(ctx context.Context, namespace string) {
	GinkgoHelper()
	Kubectl(ctx, "wait", "-n", namespace, "--for=condition=Ready", "echo/test-echo", WaitTimeout)
}

// ProbeSample sends requests to the sample Echo until the caller stops the prober.
func ProbeSample(ctx context.Context) Prober {
	GinkgoHelper()
	return StartProber(ctx, "default", "http://test-echo.default.svc", "--count=1000000", "--interval=5ms", "--duration=2h")
}

// SampleImage returns the image of the sample Echo's Deployment.
func SampleImage(ctx context.Context) (string, error) {
	return TryKubectl(ctx, "get", "-n", "default", "deployment/test-echo", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
}

// AwaitSampleImage waits until the sample Echo has the given image, and is ready with it.
func AwaitSampleImage(ctx context.Context, image types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(SampleImage).WithContext(ctx).Should(image)
	Kubectl(ctx, "rollout", "status", "-n", "default", "deployment/test-echo", WaitTimeout)
	AwaitSample(ctx, "default")
}

// SampleSelector selects the pods of the sample Echo.
const SampleSelector = "app.kubernetes.io/managed-by=echo-operator,app.kubernetes.io/instance=test-echo"

// SamplePods returns the names of the sample Echo's pods.
func SamplePods(ctx context.Context) string {
	GinkgoHelper()
	return Kubectl(ctx, "get", "pods", "-n", "default", "-l", SampleSelector, "-o", "name")
}
