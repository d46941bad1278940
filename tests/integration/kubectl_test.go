package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("kubectl", func() {
	It("prints the columns of Echoes", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "printed"))
		Expect(kubectl(ctx, "get", "echo", "-n", echo.Namespace)).To(MatchRegexp(
			`^NAME +DESIRED +READY +PHASE +REASON +AGE\nprinted +2 +2 +Ready +AllPodsReady +\d+[sm]\S*\n$`))
	})

	It("lists the events of an Echo, and describes it with its message", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "followed"))
		other := createReadyEcho(ctx, support.Echo(echo.Namespace, "other"))
		for _, each := range []*v1.Echo{echo, other} {
			expectEvents(ctx, each, "Deployed", "Ready")
		}
		Expect(kubectl(ctx, "events", "--for", "echo/followed", "-n", echo.Namespace)).To(MatchRegexp(
			`^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n(\S+ +Normal +(Deployed|Ready) +Echo/followed +.*\n){2}$`))
		described := kubectl(ctx, "describe", "echo", "followed", "-n", echo.Namespace)
		Expect(described).To(And(MatchRegexp(`(?m)^  Message: +`+echo.Status.Message+`$`), MatchRegexp(`(?m)^  Phase: +Ready$`)))
		Expect(described).To(MatchRegexp(
			`(?m)^Events:\n  Type +Reason +Age +From +Message\n.*\n(  Normal +(Deployed|Ready) +\S+ +echo-operator +.*\n){2}$`))
	})
})
