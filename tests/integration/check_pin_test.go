package integration

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("expectations of a check", func() {
	It("are the ones that pathcheck writes, and are met until the path changes", func(ctx SpecContext) {
		pathcheck := filepath.Join(programs, "pathcheck")
		namespace := newNamespace(ctx)
		server := startEchoServer("ECHO_POD_NAMESPACE="+namespace, "ECHO_SERVICE_NAME=web", "POD_NAMESPACE=mine", "SERVICE_NAME=mine")
		output, err := exec.CommandContext(ctx, pathcheck, "-o", "expect", "--address="+server, "http://web."+namespace+".svc").Output()
		Expect(err).NotTo(HaveOccurred())
		pinned := v1.EchoCheck{}
		Expect(yaml.UnmarshalStrict(output, &pinned)).To(Succeed())
		Expect(pinned.Expect).To(ContainElement(v1.EchoExpectation{Fact: "request.host", Values: []string{"kept"}}))

		echo := createReadyEcho(ctx, checkedEcho(namespace, "web", func(c *v1.EchoCheck) { c.Expect = pinned.Expect }))
		job := eventuallyCronJob(ctx, echo, "path")
		verdict := func(address string) string {
			GinkgoHelper()
			file := filepath.Join(GinkgoT().TempDir(), "verdict")
			arguments := []string{"--address=" + address}
			for _, each := range job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args {
				arguments = append(arguments, strings.Replace(each, "/dev/termination-log", file, 1))
			}
			Expect(exec.CommandContext(ctx, pathcheck, arguments...).Run()).To(Succeed())
			return support.Read(file)
		}
		run(ctx, echo, "path", verdict(server))
		expectCheck(ctx, echo, v1.CheckPassed, "")

		By("failing when a proxy is added to the path")
		proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server}))
		DeferCleanup(proxy.Close)
		run(ctx, echo, "path", verdict(proxy.Listener.Addr().String()))
		expectCheck(ctx, echo, v1.CheckFailed, "request.headers.case is canonical, expected kept.")
	}, SpecTimeout(specTimeout))

	It("are at most 64 in each of 8 checks", func(ctx SpecContext) {
		expectations := func(count int) func(*v1.EchoCheck) {
			longest := v1.EchoExpectation{Fact: "client.spoofable[" + strings.Repeat("m", 110) + "]", Operator: "NotIn",
				Values: slices.Repeat([]string{strings.Repeat("v", 256)}, 8)}
			return func(c *v1.EchoCheck) { c.Expect = slices.Repeat([]v1.EchoExpectation{longest}, count) }
		}
		var most []func(*v1.EchoCheck)
		for i := range 8 {
			most = append(most, func(c *v1.EchoCheck) {
				c.Name = fmt.Sprintf("path-%d", i)
				expectations(64)(c)
			})
		}
		echo := createReadyEcho(ctx, checkedEcho(newNamespace(ctx), "most", most...)) // etcd accepts it, too
		eventuallyCronJob(ctx, echo, "path-7")
		err := k8s.Create(ctx, checkedEcho("default", "more", expectations(65)), client.DryRunAll)
		Expect(err).To(Satisfy(apierrors.IsInvalid))
		Expect(err).To(MatchError(ContainSubstring("must have at most 64 items")))
	})
})

// startEchoServer starts the echo server on this machine with the given environment variables, and returns its address.
func startEchoServer(environment ...string) string {
	GinkgoHelper()
	command := exec.Command(filepath.Join(programs, "echo-server"), "--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0")
	command.Env = environment
	session, err := gexec.Start(command, nil, nil) // do not print the output, because the server logs one line per request
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	Eventually(session.Err).Should(gbytes.Say(`"msg":"listening","address":"[^"]+"`))
	return regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(string(session.Err.Contents()))[1]
}
