package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("operator-sdk", Label("all"), func() {
	It("runs the bundle, upgrades it and cleans up", func(ctx SpecContext) {
		realcluster.Kubectl(ctx, "create", "namespace", operatorNamespace)
		run(ctx, `cd ../.. && tests/olm/with-registry operator-sdk run bundle quay.io/echo-operator/echo-operator-bundle:v`+version(0)+` \
			--namespace=`+operatorNamespace+` --install-mode=AllNamespaces --security-context-config=restricted --timeout=6m \
			--index-image=quay.io/operator-framework/opm:$(cd tools/cluster && go list -m -f '{{.Version}}' github.com/operator-framework/operator-registry)`)
		createEcho(ctx, "default")
		waitReady(ctx, "default")
		run(ctx, `cd ../.. && tests/olm/with-registry operator-sdk run bundle-upgrade quay.io/echo-operator/echo-operator-bundle:v`+version(1)+` \
			--namespace=`+operatorNamespace+` --security-context-config=restricted --timeout=6m`)
		expectSucceeded(ctx, version(1))
		waitReady(ctx, "default")
		realcluster.Kubectl(ctx, "delete", "echo/test-echo")
		run(ctx, "operator-sdk cleanup echo-operator --namespace="+operatorNamespace)
		run(ctx,
			"kubectl delete namespace "+operatorNamespace+
				"; kubectl get clusterroles,operators -o name | grep echo-operator | xargs -r kubectl delete")
		expectNothingLeft(ctx)
	}, SpecTimeout(20*time.Minute))
})
