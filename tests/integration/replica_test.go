package integration

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// replica is an operator that restarts whenever it exits, as under a kubelet. It checks for APIs more often than the released program.
type replica struct {
	stop func()

	ended atomic.Int64
}

// shortPeriod is a discovery period that is short enough for tests.
const shortPeriod = time.Second

// startReplica starts a replica. The caller must stop the replica.
func startReplica(config *rest.Config, change func(*operator.Options)) *replica {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	r, done := &replica{}, make(chan struct{})
	r.stop = func() {
		cancel()
		Eventually(done).Should(BeClosed())
	}
	go func() {
		defer GinkgoRecover()
		defer close(done)
		for ctx.Err() == nil {
			next, err := controlplane.NewOperatorWith(config, func(o *operator.Options) {
				o.DiscoveryPeriod = shortPeriod
				change(o)
			})
			Expect(err).NotTo(HaveOccurred())
			Expect(next.Start(ctx)).To(Succeed())
			r.ended.Add(1)
		}
	}()
	return r
}

// ends returns how often the operator has exited.
func (r *replica) ends() int { return int(r.ended.Load()) }

// expectRestart expects that the operator restarts once after a step.
func (r *replica) expectRestart(ctx context.Context, step func()) {
	GinkgoHelper()
	before := r.ends()
	starts := func() int { return r.ends() - before }
	step()
	Eventually(starts).WithContext(ctx).ShouldNot(BeZero())
	Consistently(starts).WithContext(ctx).WithTimeout(8 * shortPeriod).Should(Equal(1))
}

// discoveredAPI determines what operators discover of Gateway API.
type discoveredAPI struct {
	// hidden makes the discovery of the API fail.
	hidden atomic.Bool
}

// config returns a configuration for an operator.
func (a *discoveredAPI) config(cluster *rest.Config) *rest.Config {
	config := rest.CopyConfig(cluster)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if a.hidden.Load() && request.URL.Path == "/apis/"+objects.GatewayGroupVersion().String() {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: request}, nil
			}
			return next.RoundTrip(request)
		})
	})
	return config
}

// changeAtOnce lets operators discover only the result of a change. On a busy machine, they would otherwise restart once for each kind.
func (a *discoveredAPI) changeAtOnce(change func()) {
	a.hidden.Store(true)
	defer a.hidden.Store(false)
	change()
}

// installDefinitions creates the CustomResourceDefinitions in the given files.
func installDefinitions(config *rest.Config, files []string) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(config, definitionsIn(files))
	Expect(err).NotTo(HaveOccurred())
}

// uninstallDefinitions deletes CustomResourceDefinitions, and waits until they are gone, because the API server also deletes objects that
// are created in the meantime. If a client applies an object during the deletion, API servers before version 1.35 take one minute longer.
func uninstallDefinitions(ctx context.Context, config *rest.Config, admin client.Client, files []string) {
	GinkgoHelper()
	Expect(envtest.UninstallCRDs(config, definitionsIn(files))).To(Succeed())
	definitions := &metav1.PartialObjectMetadataList{}
	definitions.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	Eventually(func(g Gomega) {
		g.Expect(admin.List(ctx, definitions)).To(Succeed())
		for _, definition := range definitions.Items {
			g.Expect(definition.DeletionTimestamp).To(BeNil(), definition.Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

func definitionsIn(files []string) envtest.CRDInstallOptions {
	return envtest.CRDInstallOptions{Paths: files, Scheme: runtime.NewScheme(),
		MaxTime: time.Minute} // while other programs keep this machine busy
}
