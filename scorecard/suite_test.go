package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

const (
	operatorNamespace  = "operator"
	scorecardNamespace = "echo-scorecard" // as in access.yaml
)

var (
	// config is the API server as its administrator sees it, and admin his client.
	config *rest.Config
	admin  *cluster
	// own is the bundle of this project.
	own bundle.Bundle
)

func TestScorecard(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Scorecard")
}

// The operator's own program runs with the rights that the bundle lists. There is no kubelet and there are no controllers: play
// stands in for them.
var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(logr.Discard())
	var err error
	own, err = bundle.Read("../bundle")
	Expect(err).NotTo(HaveOccurred())
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../config/crd/bases"}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute} // a second attempt would leave the files of the first one behind
	env.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config, err = env.Start()
	DeferCleanup(env.Stop)
	Expect(err).NotTo(HaveOccurred(), "run the suite by 'make test', which builds the API server")
	admin, err = newCluster(rest.CopyConfig(config), scorecardNamespace, 20*time.Second, 50*time.Millisecond)
	Expect(err).NotTo(HaveOccurred())
	createAll(ctx, "access.yaml")
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}})).To(Succeed())
	startPlaying()
	startOperator(ctx)
}, NodeTimeout(5*time.Minute))

// createAll creates the objects of a file.
func createAll(ctx context.Context, file string) {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(admin.Create(ctx, object)).To(Succeed())
	}
}

// tokenOf returns a token of a service account.
func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(admin.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// scorecard returns the cluster as a test in scorecard's pod sees it, with the rights of access.yaml and no others.
func scorecard(ctx context.Context) *cluster {
	GinkgoHelper()
	who := rest.AnonymousClientConfig(config)
	who.BearerToken = tokenOf(ctx, scorecardNamespace, "echo-scorecard")
	c, err := newCluster(who, scorecardNamespace, 20*time.Second, 50*time.Millisecond)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// startOperator starts the operator as its service account, creates the pod in which it would run, and waits until it is the leader.
func startOperator(ctx context.Context) {
	GinkgoHelper()
	install := own.CSV.Spec.Install.Spec
	account := install.Permissions[0].ServiceAccountName
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: account}})).To(Succeed())
	grantOperator(ctx, "operator", slices.Concat(install.Permissions[0].Rules, install.ClusterPermissions[0].Rules)...)

	program, err := gexec.Build("github.com/echo-operator/echo-operator", "-trimpath")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
	inImage := filepath.Join(filepath.Dir(program), "manager")
	Expect(os.Rename(program, inImage)).To(Succeed())
	kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, kubeconfigFor(tokenOf(ctx, operatorNamespace, account)), 0o600)).To(Succeed())
	metrics := freeAddress()
	command := exec.Command(inImage, "--leader-elect", "--leader-election-namespace="+operatorNamespace, "--health-probe-bind-address=0",
		"--metrics-bind-address="+metrics.String())
	command.Env = []string{"KUBECONFIG=" + kubeconfig, "RELATED_IMAGE_ECHO_SERVER=quay.io/echo-operator/echo-server:v0.1.0"}
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	createOperatorsPod(ctx, int32(metrics.Port))
	waitForLeader(ctx)
}

// waitForLeader waits until the operator holds its lease and has renewed it, which the test of permissions looks for.
func waitForLeader(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		lease := &coordinationv1.Lease{}
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: leaseName}, lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).To(HaveValue(Not(BeEmpty())))
		g.Expect(lease.Spec.RenewTime.Time).To(BeTemporally(">", lease.Spec.AcquireTime.Time))
	}).Should(Succeed())
}

// grantOperator gives rights to the operator's service account in all namespaces.
func grantOperator(ctx context.Context, name string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: own.CSV.Spec.Install.Spec.Permissions[0].ServiceAccountName}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, Subjects: []rbacv1.Subject{account},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	for _, object := range []client.Object{role, binding} {
		Expect(admin.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, object)).To(Succeed()) }, NodeTimeout(10*time.Second))
	}
}

// createOperatorsPod makes the pod of the bundle's Deployment, named as the machine that the operator holds its lease as.
func createOperatorsPod(ctx context.Context, metricsPort int32) {
	GinkgoHelper()
	name, err := os.Hostname()
	Expect(err).NotTo(HaveOccurred())
	template := own.CSV.Spec.Install.Spec.Deployments[0].Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = operatorNamespace, strings.ToLower(name)
	for i, port := range pod.Spec.Containers[0].Ports {
		if port.Name == "metrics" {
			pod.Spec.Containers[0].Ports[i].ContainerPort = metricsPort
		}
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	pod.Status.PodIP, pod.Status.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
}

func freeAddress() *net.TCPAddr {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(listener.Close()).To(Succeed()) }()
	return listener.Addr().(*net.TCPAddr)
}

func kubeconfigFor(token string) []byte {
	return fmt.Appendf(nil, `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}],
users: [{name: u, user: {token: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}], current-context: c}`,
		config.Host, base64.StdEncoding.EncodeToString(config.CAData), token)
}
