package integration

import (
	"net/http"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("a status that another client writes", func() {
	It("is corrected", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "told"))
		wrong := echo.DeepCopy()
		wrong.Status = v1.EchoStatus{Phase: v1.PhaseFailed, ReadyReplicas: 7}
		Expect(k8s.Status().Update(ctx, wrong)).To(Succeed())
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status", And(HaveField("Phase", v1.PhaseReady),
			HaveField("ReadyReplicas", echo.Status.ReadyReplicas), HaveField("URL", echo.Status.URL))))
	})
})

var _ = Describe("an API server that checks owner references and has not discovered the kind Echo", func() {
	It("accepts the children of an Echo immediately", func(ctx SpecContext) {
		server := startAPIServer()
		admin := newClient(server.Config)
		Expect(controlplane.GrantOperatorsRole(ctx, admin, configFolder)).To(Succeed())
		config := rest.CopyConfig(server.Config)
		config.Impersonate.UserName = controlplane.OperatorUser
		owned := &corev1.Service{Namespace: "default", Name: "owned", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Echo", Name: "x", UID: "u", BlockOwnerDeletion: new(true)}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		Expect(newClient(config).Create(ctx, owned)).To(MatchError(ContainSubstring("cannot find RESTMapping")),
			"from now on, the API server caches the list of kinds for 30 s")

		installDefinitions(server.Config, []string{filepath.Join(configFolder, "crd", "bases", "example.com_echoes.yaml")})
		sent := &requestLog{}
		DeferCleanup(startReplica(&rest.Config{Host: sent.proxy(server.Config)}, func(*operator.Options) {}).stop)
		echo := support.Echo("default", "first")
		Expect(admin.Create(ctx, echo)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), &corev1.Service{})).To(Succeed())
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
			g.Expect(echo).To(haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, nil))
		}).WithContext(ctx).Should(Succeed())
		Expect(sent.data()).NotTo(ContainElement(And(HaveField("Method", Not(Equal(http.MethodGet))), HaveField("Status", BeNumerically(">=", 400)))))
		for _, event := range support.EventsOf(ctx, Default, admin, echo) {
			Expect(event.Type).To(Equal(corev1.EventTypeNormal), event.Note)
		}
	}, SpecTimeout(specTimeout))
})
