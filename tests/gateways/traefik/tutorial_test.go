package traefik

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the tutorial about the address of a client", func() {
	It("works", func(ctx SpecContext) {
		removeTutorial(ctx)
		DeferCleanup(func(ctx SpecContext) { removeTutorial(ctx) }, NodeTimeout(5*time.Minute))
		const address = `'"$(kubectl get pods -n traefik -l app=traefik -o jsonpath={.items[0].status.podIP})"'`
		reader := realcluster.Reader{Namespace: "default", Replace: []string{`"value": "10.244.0.12"`, `"value": "` + address + `"`,
			"kubectl get pods -n shop\n",
			"until [ $(kubectl get pods -n shop -l app.kubernetes.io/name=echo -o name | wc -l) = 2 ]; do sleep 1; done\n",
			// Traefik applies an Ingress a few seconds after its creation.
			"curl -s http://shop.traefik", "curl -sf --retry 10 --retry-delay 2 --retry-all-errors http://shop.traefik"}}
		printed := reader.Follow(ctx, support.DocumentedPage("docs/tutorials/client-address.md"))
		Expect(printed[3]).To(HaveSuffix("\nhttp://shop.traefik.svc.cluster.local\n"), "the URL of the Echo")
		client, _, _ := strings.Cut(printed[1], "\n")
		Expect(printed[1]).To(ContainSubstring(`"address": "` + client + `"`))
		Expect(printed[4]).NotTo(ContainSubstring(`"address": "` + client + `"`))
		Expect(printed[6]).To(ContainSubstring(`"address": "` + client + `"`))
	}, SpecTimeout(30*time.Minute))
})

// removeTutorial deletes the objects that the tutorial creates.
func removeTutorial(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "delete", "--ignore-not-found", "namespace/shop", "namespace/traefik", "clusterrole/traefik-tutorial",
		"clusterrolebinding/traefik-tutorial", "ingressclass/traefik", waitTimeout)
}
