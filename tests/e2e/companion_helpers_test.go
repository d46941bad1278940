package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// doc contains the documentation about companions.
type doc struct {
	text        string
	environment []string
}

// companionsDoc reads the documentation about companions. The documented commands will run in the given namespace.
func companionsDoc(ctx context.Context, namespace string) *doc {
	GinkgoHelper()
	text := ""
	for _, step := range support.DocumentedPage("docs/how-to/companions.md") {
		text += step.Commands
	}
	kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, []byte(realcluster.Kubectl(ctx, "config", "view", "--raw", "--flatten")), 0o600)).To(Succeed())
	d := &doc{text: text, environment: append(os.Environ(), "KUBECONFIG="+kubeconfig)}
	d.shell(ctx, "kubectl config set-context --current --namespace="+namespace)
	return d
}

// line returns the only documented command that begins with the given prefix.
func (d *doc) line(beginning string) string {
	GinkgoHelper()
	lines := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(beginning)+`.*$`).FindAllString(d.text, -1)
	Expect(lines).To(HaveLen(1), "commands in docs/how-to/companions.md that begin with %q", beginning)
	return lines[0]
}

func (d *doc) run(ctx context.Context, beginning string) string {
	GinkgoHelper()
	return d.shell(ctx, d.line(beginning))
}

func (d *doc) command(ctx context.Context, script string) *exec.Cmd {
	command := exec.CommandContext(ctx, "sh", "-euc", script)
	command.Env = d.environment
	return command
}

func (d *doc) shell(ctx context.Context, script string) string {
	GinkgoHelper()
	output, err := d.command(ctx, script).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", script, output)
	return string(output)
}

// expectAnswer expects that the documented commands find a companion, and that the companion responds with the given status. The test
// images do not contain wget, so the prober requests the companion's URL. The port-forward uses a free port instead of the documented one.
func (d *doc) expectAnswer(ctx context.Context, companion *corev1.Pod, status int) {
	GinkgoHelper()
	find := d.line("companion=")
	Expect(d.shell(ctx, find+`; echo "$companion"`)).To(Equal("pod/" + companion.Name + "\n"))
	url := regexp.MustCompile(`"http.*"$`).FindString(d.line("kubectl exec web-0 -- wget "))
	url = strings.TrimSpace(d.shell(ctx, find+"; echo "+url))
	Expect(url).To(Equal("http://" + companion.Status.PodIP + ":8080/"))
	seen := realcluster.StartProber(ctx, companion.Namespace, url, "--count=20", fmt.Sprintf("--status=%d", status)).Finish(ctx)
	Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
	Expect(seen.Pods).To(Equal(map[string]int{companion.Name: 20}))

	forward := strings.ReplaceAll(d.line(`kubectl port-forward "$companion" 8080:8080`), " 8080:8080", " :8080")
	session, err := gexec.Start(d.command(ctx, find+"; exec "+forward), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	defer func() { session.Terminate().Wait() }()
	address := forwardedAddress(ctx, Default, session)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	Expect(response).To(HaveHTTPStatus(status))
	Expect(response).To(HaveHTTPHeaderWithValue("X-Known", "good"))
	Expect(response).To(HaveHTTPBody(ContainSubstring(companion.Name)))
}

// companionEcho returns an Echo with one pod, a custom response, and a drain delay of one second.
func companionEcho(namespace, name string) *v1.Echo {
	return support.Echo(namespace, name, func(e *v1.Echo) {
		e.Spec.Replicas = new(int32(1))
		e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_DRAIN_DELAY", Value: "1s"}}
		e.Spec.Response = &v1.EchoResponse{StatusCode: http.StatusTeapot, Headers: []v1.EchoHeader{{Name: "X-Known", Value: "good"}}}
	})
}

// webSet returns a StatefulSet with two pods that request companions.
func webSet(echo *v1.Echo) *appsv1.StatefulSet {
	template := realcluster.WebPod(echo.Namespace, "", echo.Name)
	return &appsv1.StatefulSet{
		Namespace: echo.Namespace, Name: "web",
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
		},
	}
}

// accompanied creates an Echo and a pod that has a companion.
func accompanied(ctx context.Context) (*v1.Echo, *corev1.Pod) {
	GinkgoHelper()
	echo := companionEcho(namespaces.New(ctx), "beside")
	Expect(k8s.Create(ctx, echo)).To(Succeed())
	owner := realcluster.WebPod(echo.Namespace, "web-0", echo.Name)
	Expect(k8s.Create(ctx, owner)).To(Succeed())
	eventuallyCompanion(ctx, owner, "")
	return echo, owner
}

// companions returns the companions in a namespace, regardless of their labels.
func companions(ctx context.Context, g Gomega, namespace string) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var found []corev1.Pod
	for i := range list.Items {
		if ownerOf(&list.Items[i]) != "" {
			found = append(found, list.Items[i])
		}
	}
	return found
}

// eventuallyCompanion waits until the owner has exactly one companion, and this companion is ready, runs on the owner's node, and is not
// the replaced one. It also refreshes the owner.
func eventuallyCompanion(ctx context.Context, owner *corev1.Pod, replaced types.UID) *corev1.Pod {
	GinkgoHelper()
	var its []corev1.Pod
	Eventually(func(g Gomega) {
		its = nil
		for _, companion := range companions(ctx, g, owner.Namespace) {
			if ownerOf(&companion) == owner.UID {
				its = append(its, companion)
			}
		}
		g.Expect(its).To(HaveLen(1))
		g.Expect(its[0].UID).NotTo(Equal(replaced))
		g.Expect(its[0].DeletionTimestamp).To(BeNil())
		g.Expect(its[0].Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(owner), owner)).To(Succeed())
		g.Expect(its[0].Spec.NodeName).To(Equal(owner.Spec.NodeName))
	}).WithContext(ctx).Should(Succeed())
	return &its[0]
}

func eventuallyNone(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func(g Gomega) { g.Expect(companions(ctx, g, namespace)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
}

// eventuallyPod waits until a StatefulSet has replaced a deleted pod.
func eventuallyPod(ctx context.Context, set *appsv1.StatefulSet, ordinal int, deleted types.UID) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{}
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, ordinal)}, pod)).To(Succeed())
		g.Expect(pod.UID).NotTo(Equal(deleted))
	}).WithContext(ctx).Should(Succeed())
	return pod
}

// expectEndpoints expects a Service to have exactly the given pods as endpoints.
func expectEndpoints(ctx context.Context, namespace, service string, wanted ...corev1.Pod) {
	GinkgoHelper()
	var names []string
	for _, pod := range wanted {
		names = append(names, pod.Name)
	}
	there := func(g Gomega) {
		list := &discoveryv1.EndpointSliceList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})).To(Succeed())
		var found []string
		for _, slice := range list.Items {
			for _, endpoint := range slice.Endpoints {
				found = append(found, endpoint.TargetRef.Name)
			}
		}
		g.Expect(found).To(ConsistOf(names))
	}
	Eventually(there).WithContext(ctx).Should(Succeed())
	Consistently(there).WithContext(ctx).WithTimeout(time.Second).Should(Succeed())
}

// ownerOf returns the UID of the pod that a companion belongs to, or "" for other pods.
func ownerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Pod" {
		return owner.UID
	}
	return ""
}
