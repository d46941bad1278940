package realcluster

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/tests/support"
)

// Prober is a pod that sends requests to echo servers. The pod runs tests/programs/prober.
type Prober struct{ namespace, pod string }

// Seen is the summary that a prober prints.
type Seen struct {
	Requests int
	Failed   int
	Errors   []string
	Pods     map[string]int
}

// Image returns the name and digest of an image that the suite's make target has built.
func Image(name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("IMAGES"), name))
	Expect(err).NotTo(HaveOccurred(), "run the suite with its make target, which builds the images")
	return strings.TrimSpace(string(text))
}

// StartProber starts a prober, passes the arguments to tests/programs/prober, and waits until the prober is connected to the URL. After the
// test, it deletes the prober.
func StartProber(ctx context.Context, namespace, url string, arguments ...string) Prober {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(support.Root(), "tests/programs/prober/pod.yaml"))
	Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{}
	Expect(yaml.UnmarshalStrict(text, pod)).To(Succeed())
	pod.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, GenerateName: "prober-"}
	pod.Spec.Containers[0].Image = Image("prober")
	pod.Spec.Containers[0].Args = append([]string{"--url=" + url}, arguments...)
	manifest, err := yaml.Marshal(pod)
	Expect(err).NotTo(HaveOccurred())
	name := strings.TrimSpace(KubectlInput(ctx, string(manifest), "create", "-o", "name", "-f", "-"))
	p := Prober{namespace, name}
	DeferCleanup(func(ctx SpecContext) { p.kubectl(ctx, "delete", name, "--ignore-not-found", "--now") }, NodeTimeout(2*time.Minute))
	Eventually(p.kubectl).WithContext(ctx).WithArguments("get", name, "-o", "jsonpath={.status.phase}").
		Should(Or(Equal("Running"), Equal("Succeeded"), Equal("Failed")))
	Eventually(p.kubectl).WithContext(ctx).WithArguments("logs", name).Should(ContainSubstring("connected"))
	return p
}

// Name returns the name of the prober's pod.
func (p Prober) Name() string { return strings.TrimPrefix(p.pod, "pod/") }

// Stop stops a prober early and returns its summary.
func (p Prober) Stop(ctx context.Context) Seen {
	GinkgoHelper()
	p.kubectl(ctx, "exec", p.pod, "--", "/prober", "--stop")
	return p.Finish(ctx)
}

// Finish waits until a prober has finished, deletes its pod, and returns its summary.
func (p Prober) Finish(ctx context.Context) Seen {
	GinkgoHelper()
	Eventually(p.kubectl).WithContext(ctx).WithArguments("get", p.pod, "-o", "jsonpath={.status.phase}").
		Should(Or(Equal("Succeeded"), Equal("Failed")))
	lines := strings.Split(strings.TrimSpace(p.kubectl(ctx, "logs", p.pod)), "\n")
	var seen Seen
	Expect(json.Unmarshal([]byte(lines[len(lines)-1]), &seen)).To(Succeed())
	p.kubectl(ctx, "delete", p.pod)
	return seen
}

func (p Prober) kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return Kubectl(ctx, append([]string{"-n", p.namespace}, arguments...)...)
}
