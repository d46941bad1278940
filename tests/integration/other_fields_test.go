package integration

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// otherFields is the documentation page about fields that an Echo does not have.
const otherFields = "docs/how-to/set-other-fields.md"

var _ = Describe("fields that an Echo does not have", func() {
	It("are set with the documented manifests, and persist through reconciles, rollouts and operator upgrades", func(ctx SpecContext) {
		manifests := []string{support.Documented(otherFields, "## Set a field"), support.Documented(otherFields, "## Use objects of your own")}
		var crds []string
		if minorVersion(cluster) >= 31 { // the CustomResourceDefinition of TLSRoutes uses isIP, which older versions lack
			crds = append(crds, filepath.Join(support.ModuleFolder(ctx, ".", "sigs.k8s.io/gateway-api"), "config", "crd", "standard",
				"gateway.networking.k8s.io_tlsroutes.yaml"))
			manifests = append(manifests, support.Documented(otherFields, "A TLSRoute sends TLS"))
		}
		server, admin := startCluster(crds...)
		Expect(controlplane.GrantOperatorsRole(ctx, admin, configFolder)).To(Succeed())
		run := func(commands string) string {
			GinkgoHelper()
			return support.Run(ctx, "export KUBECONFIG="+writeKubeconfig(server.KubeConfig)+" PATH=$KUBEBUILDER_ASSETS:$PATH\n"+commands)
		}
		sent := &requestLog{}
		api := &rest.Config{Host: sent.proxy(server.Config)}

		echo := support.Echo("default", "test-echo")
		stop, reconcile := startVersion(ctx, api, "example.com/echo-server:v1")
		Expect(admin.Create(ctx, echo)).To(Succeed())
		eventuallyRunning(ctx, admin, echo, "example.com/echo-server:v1")
		for _, commands := range manifests {
			run(commands)
		}
		expectUnchanged := func(image string) {
			GinkgoHelper()
			eventuallyRunning(ctx, admin, echo, image)
			expectAtRest(ctx, sent, reconcile, echo)
			for _, commands := range manifests {
				run(strings.Replace(commands, "kubectl apply", "kubectl diff", 1))
			}
		}
		expectUnchanged("example.com/echo-server:v1")

		By("upgrading the operator")
		stop()
		stop, reconcile = startVersion(ctx, api, "example.com/echo-server:v2")
		defer func() { stop() }()
		expectUnchanged("example.com/echo-server:v2")

		By("changing the image")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		echo.Spec.Image = "example.com/other:v3"
		Expect(admin.Update(ctx, echo)).To(Succeed())
		expectUnchanged("example.com/other:v3")

		By("removing a field")
		run(strings.Replace(manifests[0], "  minReadySeconds: 5\n", "", 1))
		deployment := named(&appsv1.Deployment{}, echo)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		Expect(deployment.Spec.MinReadySeconds).To(BeZero())
		Expect(deployment.Spec.RevisionHistoryLimit).To(HaveValue(BeEquivalentTo(3)))
		expectAtRest(ctx, sent, reconcile, echo)
	}, SpecTimeout(specTimeout))
})

// startVersion starts an operator that uses the given default image for echo servers. It returns a function that stops the operator, and a
// function that reconciles an Echo.
func startVersion(ctx context.Context, api *rest.Config, image string) (stop func(), reconcile func(*v1.Echo) error) {
	GinkgoHelper()
	version, err := controlplane.NewOperatorWith(api, func(o *operator.Options) {
		o.Images = objects.Images{EchoServer: image, PathCheck: controlplane.PathCheckImage}
	})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- version.Start(running) }()
	stop = func() {
		GinkgoHelper()
		cancel()
		Eventually(stopped).Should(Receive(BeNil()))
	}
	return stop, func(echo *v1.Echo) error {
		_, err := version.Echoes.Reconcile(running, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)})
		return err
	}
}

// eventuallyRunning completes rollouts until an Echo is Ready and runs the given image.
func eventuallyRunning(ctx context.Context, c client.Client, echo *v1.Echo, image string) {
	GinkgoHelper()
	now, deployment := &v1.Echo{}, named(&appsv1.Deployment{}, echo)
	Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
		g.Expect(support.RollOut(ctx, c, deployment)).To(Succeed())
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(echo), now)).To(Succeed())
		g.Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, nil))
	}).WithContext(ctx).Should(Succeed())
}

// expectAtRest waits until 100 reconciles of an Echo in a row send no requests. It ignores watches and events, which are asynchronous.
func expectAtRest(ctx context.Context, sent *requestLog, reconcile func(*v1.Echo) error, echo *v1.Echo) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		before := len(sent.data())
		for range 100 {
			g.Expect(reconcile(echo)).To(Succeed())
		}
		g.Expect(slices.DeleteFunc(sent.data()[before:], func(request sentRequest) bool {
			return strings.Contains(request.URL, "watch=true") || strings.Contains(request.URL, "/events.k8s.io/")
		})).To(BeEmpty())
	}).WithContext(ctx).WithPolling(time.Second / 2).Should(Succeed())
}
