package support

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
)

// Prober is a pod that sends requests to echo servers: tests/programs/prober.
type Prober struct{ namespace, pod string }

// Seen is what a prober saw.
type Seen struct {
	Requests int
	Failed   int
	Seconds  float64
	Errors   []string
	Pods     map[string]int
}

// Image is the name, by digest, of one of the images that the make target has built for its suite.
func Image(name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("IMAGES"), name))
	Expect(err).NotTo(HaveOccurred(), "run the suite by its make target, which builds the images")
	return strings.TrimSpace(string(text))
}

// StartProber starts a prober with the arguments of tests/programs/prober, and waits until it is connected to the URL. A test that fails
// leaves none behind.
func StartProber(ctx context.Context, namespace, url string, arguments ...string) Prober {
	GinkgoHelper()
	text, err := os.ReadFile("../programs/prober/pod.yaml")
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

// Name is the name of its pod.
func (p Prober) Name() string { return strings.TrimPrefix(p.pod, "pod/") }

// Stop ends a prober before its time, and returns what it saw.
func (p Prober) Stop(ctx context.Context) Seen {
	GinkgoHelper()
	p.kubectl(ctx, "exec", p.pod, "--", "/prober", "--stop")
	return p.Finish(ctx)
}

// Finish waits for a prober to end, and returns what it saw. The pod is deleted.
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
