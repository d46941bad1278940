package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("the status API", Ordered, SpecPriority(1), func() {
	const many = 1000
	var (
		admin    client.Client
		server   *envtest.Environment
		sent     *requestLog
		operator *gexec.Session
		address  string
	)

	// token returns the token of a service account in the default namespace, or "" if the name is empty.
	token := func(ctx context.Context, g Gomega, account string) string {
		GinkgoHelper()
		if account == "" {
			return ""
		}
		return tokenOf(ctx, g, admin, "default", account)
	}
	expect := func(ctx context.Context, account, path string, status int, message string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			got, text := responseOf(ctx, g, "https://"+address+path, token(ctx, g, account))
			g.Expect(got).To(Equal(status), text)
			g.Expect(text).To(ContainSubstring(message))
		}).WithContext(ctx).Should(Succeed())
	}
	allow := func(ctx context.Context, account, namespace string, rules ...rbacv1.PolicyRule) {
		GinkgoHelper()
		Expect(controlplane.Grant(ctx, admin, "system:serviceaccount:default:"+account, namespace, rules)).To(Succeed())
	}

	BeforeAll(func(ctx SpecContext) {
		server, admin = startCluster()
		for i := range many { // these Echoes are paused, so that the operator writes only their status
			Expect(admin.Create(ctx, support.Echo("default", fmt.Sprintf("many-%04d", i), func(e *v1.Echo) { e.Spec.Paused = true }))).To(Succeed())
		}
		sent = &requestLog{}
		address = reserveAddress()
		operator = startProgram([]string{"KUBECONFIG=" + writeKubeconfig(kubeconfigFor(sent.proxy(server.Config)))},
			"--leader-elect", "--leader-election-namespace=default", "--health-probe-bind-address=0", "--metrics-bind-address="+address,
			"--zap-log-level=debug")
		Eventually(operator.Err).WithContext(ctx).Should(gbytes.Say("Starting workers"))
		allow(ctx, "reader", "",
			rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"echoes"}, Verbs: []string{"get", "list"}})
		allow(ctx, "scraper", "", manifest("rbac/metrics_reader_role.yaml", &rbacv1.ClusterRole{}).Rules...)
		expect(ctx, "reader", "/echoes/default/many-0001", http.StatusOK, "") // wait until the endpoint listens
	}, NodeTimeout(specTimeout))

	It("rejects requests without a token, with an invalid token or without permission", func(ctx SpecContext) {
		for _, path := range []string{"/echoes", "/echoes?namespace=default", "/echoes/default/many-0001", "/metrics"} {
			expect(ctx, "", path, http.StatusUnauthorized, "kubectl create token")
			status, _ := responseOf(ctx, Default, "https://"+address+path, "nonsense")
			Expect(status).To(Equal(http.StatusUnauthorized))
			expect(ctx, "nobody", path, http.StatusForbidden, `"error": "the token's user cannot `)
		}
		expect(ctx, "nobody", "/echoes", http.StatusForbidden,
			`cannot list resource \"echoes\" in API group \"example.com\" at the cluster scope; select a namespace with ?namespace=`)
		expect(ctx, "nobody", "/echoes/default/x", http.StatusForbidden,
			`cannot get resource \"echoes\" in API group \"example.com\" in the namespace \"default\"`)
		expect(ctx, "nobody", "/metrics", http.StatusForbidden, `cannot get path \"/metrics\"`)
		Eventually(operator.Err).WithContext(ctx).Should(gbytes.Say(`"level":"debug".*"msg":"Access denied."`))
	})

	It("lists 1,000 Echoes without requesting data from the API server", func(ctx SpecContext) {
		list := func(g Gomega) []apiEcho {
			status, text := responseOf(ctx, g, "https://"+address+"/echoes", token(ctx, g, "reader"))
			g.Expect(status).To(Equal(http.StatusOK), text)
			var answer struct{ Items []apiEcho }
			g.Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed())
			return answer.Items
		}
		Eventually(func(g Gomega) { // wait until all Echoes have a status
			items := list(g)
			g.Expect(len(items)).To(BeNumerically(">=", many))
			for _, item := range items {
				g.Expect(item.Status.Phase).NotTo(BeEmpty())
			}
		}).WithContext(ctx).WithTimeout(specTimeout).Should(Succeed())
		Eventually(func(g Gomega) { // until the last status and event are written, other requests may interfere
			before := sent.data()
			for range 10 {
				g.Expect(len(list(g))).To(BeNumerically(">=", many))
			}
			g.Expect(sent.data()[len(before):]).To(BeEmpty(), "requests by ten lists of %d Echoes", many)
		}).WithContext(ctx).Should(Succeed())
		Expect(slices.IsSortedFunc(list(Default), func(a, b apiEcho) int { return strings.Compare(a.Name, b.Name) })).To(BeTrue())
	})

	It("serves a known client during a flood of made-up tokens", func(ctx SpecContext) {
		flooding := reserveAddress() // of an operator without a proxy in front of the API server
		startProgram([]string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig)}, "--leader-elect", "--leader-election-namespace=default",
			"--health-probe-bind-address=0", "--metrics-bind-address="+flooding)
		scrape := func(token string) int { return statusOf(ctx, Default, "https://"+flooding+"/metrics", token) }
		known := token(ctx, Default, "scraper")
		Eventually(func(g Gomega) { // wait until the endpoint listens
			g.Expect(statusOf(ctx, g, "https://"+flooding+"/metrics", known)).To(Equal(http.StatusOK))
		}).WithContext(ctx).Should(Succeed())
		flooded := make(chan map[int]int, 1)
		go func() {
			defer GinkgoRecover()
			statuses := map[int]int{}
			for i := 0; statuses[http.StatusTooManyRequests] < 100; i++ {
				statuses[scrape(fmt.Sprintf("made-up-%d", i))]++
			}
			flooded <- statuses
		}()
		Eventually(func() <-chan map[int]int {
			Expect(scrape(known)).To(Equal(http.StatusOK), "a scrape during the flood")
			return flooded
		}).WithContext(ctx).Should(Receive(And(HaveLen(2), HaveKey(http.StatusUnauthorized))))
	})

	It("rejects a client whose permission or token was revoked", func(ctx SpecContext) {
		old := token(ctx, Default, "fired")
		listed := func() int { return statusOf(ctx, Default, "https://"+address+"/echoes?namespace=default", old) }
		allow(ctx, "fired", "default",
			rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"echoes"}, Verbs: []string{"list"}})
		Eventually(listed).WithContext(ctx).Should(Equal(http.StatusOK))
		Expect(admin.DeleteAllOf(ctx, &rbacv1.RoleBinding{}, client.InNamespace("default"))).To(Succeed())
		Eventually(listed).WithContext(ctx).Should(Equal(http.StatusForbidden))
		Expect(admin.Delete(ctx, &corev1.ServiceAccount{Namespace: "default", Name: "fired"})).To(Succeed())
		Eventually(listed).WithContext(ctx).Should(Equal(http.StatusUnauthorized))
	})

	It("returns the name of the leader from other replicas", func(ctx SpecContext) {
		other := reserveAddress()
		session := startProgram([]string{"KUBECONFIG=" + writeKubeconfig(kubeconfigFor(sent.proxy(server.Config)))},
			"--leader-elect", "--leader-election-namespace=default", "--health-probe-bind-address=0", "--metrics-bind-address="+other)
		Eventually(session.Err).WithContext(ctx).Should(gbytes.Say("Serving metrics server"))
		leader, _, _ := strings.Cut(leaseHolder(ctx, Default, admin, "default"), "_")
		for _, path := range []string{"/echoes", "/echoes/default/many-0001"} {
			var text string
			Eventually(func(g Gomega) { // wait until the endpoint listens
				var status int
				status, text = responseOf(ctx, g, "https://"+other+path, token(ctx, g, "reader"))
				g.Expect(status).To(Equal(http.StatusServiceUnavailable), text)
			}).WithContext(ctx).Should(Succeed())
			Expect(text).To(And(ContainSubstring("this replica is not the leader; ask pod "+leader), ContainSubstring(`"leader": "`+leader+`"`)))
		}
		status, _ := responseOf(ctx, Default, "https://"+other+"/echoes", token(ctx, Default, "nobody"))
		Expect(status).To(Equal(http.StatusForbidden), "the name of the leader also requires permission")
	})

	It("serves readers of the metrics in a cluster without the role system:basic-user", func(ctx SpecContext) {
		Expect(admin.Delete(ctx, &rbacv1.ClusterRoleBinding{Name: "system:basic-user"})).To(Succeed())
		expect(ctx, "nobody", "/metrics", http.StatusForbidden,
			`User \"system:serviceaccount:default:nobody\" cannot create resource \"selfsubjectaccessreviews\"`)
		expect(ctx, "scraper", "/metrics", http.StatusOK, "controller_runtime_reconcile_total")
	})
})

// apiEcho is the part of a response of the status API that the specs read.
type apiEcho struct {
	Name   string
	Status v1.EchoStatus
}
