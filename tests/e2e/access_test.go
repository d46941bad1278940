package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("a user with the role", func() {
	DescribeTable("has the role's permissions on Echoes, only in that namespace",
		func(ctx SpecContext, role string, may, mayNot []string) {
			namespace := namespaces.New(ctx)
			realcluster.Kubectl(ctx, "create", "rolebinding", "jane", "-n", namespace, "--clusterrole="+role, "--user=jane")
			can := func(namespace, what string) string {
				output, _ := realcluster.TryKubectl(ctx, strings.Fields("auth can-i --as=jane -n "+namespace+" "+what)...) // fails for "no"
				return what + ": " + strings.TrimSpace(output)
			}
			for _, what := range may {
				Eventually(can).WithContext(ctx).WithArguments(namespace, what).Should(HaveSuffix(": yes")) // role aggregation takes a moment
				Expect(can("default", what)).To(HaveSuffix(": no"), "the permissions must not apply in another namespace")
			}
			for _, what := range mayNot {
				Expect(can(namespace, what)).To(HaveSuffix(": no"))
			}
		},
		Entry("view", SpecTimeout(5*time.Minute), "view",
			[]string{"get echoes", "list echoes", "watch echoes", "get echoes --subresource=status", "get echoes --subresource=scale"},
			[]string{"create echoes", "update echoes --subresource=scale", "delete echoes", "patch echoes"}),
		Entry("edit", SpecTimeout(5*time.Minute), "edit",
			[]string{"get echoes", "create echoes", "patch echoes", "delete echoes", "deletecollection echoes", "update echoes --subresource=scale",
				"get services --subresource=proxy", "get pods --subresource=log"}, // as in the quick start, and in messages
			[]string{"update echoes --subresource=status", "patch echoes --subresource=status", "update echoes --subresource=finalizers"}),
		Entry("admin", SpecTimeout(5*time.Minute), "admin",
			[]string{"create echoes", "deletecollection echoes", "patch echoes --subresource=scale", "get echoes --subresource=status",
				"update echoes --subresource=finalizers"},
			[]string{"update echoes --subresource=status", "patch echoes --subresource=status"}),
	)

	It("edit can follow the console's quick start", func(ctx SpecContext) {
		page := support.Read("internal/openshift/console_objects/first_echo.yaml")
		namespace := namespaces.New(ctx)
		request := regexp.MustCompile("`oc get --raw \"(.+?)\"`\\{\\{copy").FindAllStringSubmatch(page, -1)
		Expect(request).To(HaveLen(2)) // before and after the change
		send := func() (string, error) {
			return realcluster.TryKubectl(ctx, "get", "--as=jane", "--raw", strings.ReplaceAll(request[0][1], "$(oc project -q)", namespace))
		}
		change := regexp.MustCompile("(?s)```\n(.+?)```\\{\\{copy").FindStringSubmatch(page)
		Expect(change).To(HaveLen(2))

		realcluster.Kubectl(ctx, "create", "rolebinding", "jane", "-n", namespace, "--clusterrole=edit", "--user=jane")
		echo := support.Echo(namespace, "first", func(e *v1.Echo) { e.Spec.Replicas = new(int32(2)) })
		echo.SetGroupVersionKind(v1.GroupVersion.WithKind("Echo"))
		manifest, err := json.Marshal(echo)
		Expect(err).NotTo(HaveOccurred())
		realcluster.KubectlInput(ctx, string(manifest), "create", "--as=jane", "-f", "-")
		waitReady(ctx, echo)
		Expect(send()).To(MatchRegexp(`"pod": ?"first-`))
		realcluster.Kubectl(ctx, "patch", "echo", "first", "--as=jane", "-n", namespace, "--type=merge", "--patch="+change[1])
		Eventually(func() error {
			_, err := send()
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("ServiceUnavailable")))
		realcluster.Kubectl(ctx, "delete", "echo", "first", "--as=jane", "-n", namespace)
	}, SpecTimeout(5*time.Minute))
})
