package crashes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	// churnPause is the longest pause between two changes. mostChanges is the maximum number of changes in a Ginkgo spec.
	churnPause  = time.Second
	mostChanges = 600
)

// churn makes random changes to Echoes and to pods that request companions from those Echoes.
type churn struct {
	namespace string
	random    *rand.Rand
	image     string
	changes   atomic.Int64
	stop      func()

	lock    sync.Mutex
	counts  map[string]int
	invalid []string
}

func (c *churn) names() []string  { return []string{"c0", "c1", "c2", "c3", "c4"} }
func (c *churn) owners() []string { return []string{"web-0", "web-1", "web-2"} }

// startChurn makes changes in the background until the returned churn is stopped. The suite's random seed determines the changes.
func startChurn(ctx context.Context, namespace string) *churn {
	GinkgoHelper()
	repository, _, _ := strings.Cut(realcluster.Image("echo-server"), "@")
	version, err := os.ReadFile(filepath.Join(support.Root(), "VERSION"))
	Expect(err).NotTo(HaveOccurred())
	c := &churn{namespace: namespace, image: repository + ":v" + strings.TrimSpace(string(version)), counts: map[string]int{},
		random: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))}
	GinkgoWriter.Println("the changes depend on the seed", GinkgoRandomSeed())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx)
	}()
	c.stop = func() { cancel(); <-done }
	DeferCleanup(c.stop)
	return c
}

func (c *churn) run(ctx context.Context) {
	for range mostChanges {
		what, err := c.step(ctx)
		if ctx.Err() != nil {
			return
		}
		c.note(what, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(c.random.Int64N(int64(churnPause)))):
		}
	}
}

// note counts a change and records whether it was invalid. Crashes may cause errors, but an invalid change is a mistake in the test.
func (c *churn) note(what string, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		c.invalid = append(c.invalid, what+": "+err.Error())
	}
	if err != nil {
		what += " (failed)"
	} else {
		c.changes.Add(1)
	}
	c.counts[what]++
}

// await waits for the given number of further changes.
func (c *churn) await(ctx context.Context, changes int) {
	GinkgoHelper()
	wanted := c.changes.Load() + int64(changes)
	Eventually(c.changes.Load).WithContext(ctx).WithPolling(10 * time.Millisecond).Should(BeNumerically(">=", wanted))
}

// end stops the changes and prints how many there were.
func (c *churn) end() {
	GinkgoHelper()
	c.stop()
	GinkgoWriter.Println("changes:", c.counts)
	figures.changes += int(c.changes.Load())
	Expect(c.invalid).To(BeEmpty(), "invalid changes")
	Expect(c.changes.Load()).To(BeNumerically("<", mostChanges), "the changes stopped before the crash was over")
}

// step makes one change. All random choices precede the first request, so that the choices do not depend on responses.
func (c *churn) step(ctx context.Context) (string, error) {
	dice, name, owner, change := c.random.IntN(20), pick(c, c.names()), pick(c, c.owners()), c.change()
	created := support.Echo(c.namespace, name, func(e *v1.Echo) { change(e); c.change()(e); e.Spec.Replicas = new(1 + c.random.Int32N(2)) })
	switch pod := realcluster.WebPod(c.namespace, owner, pick(c, c.names())); {
	case dice == 0:
		return "delete a pod with a companion", client.IgnoreNotFound(k8s.Delete(ctx, pod))
	case dice == 1:
		return "create a pod with a companion", ignoreExisting(k8s.Create(ctx, pod))
	case dice < 4 && name != c.names()[0]: // the first Echo is never deleted
		order := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}[dice%2]
		return "delete", client.IgnoreNotFound(k8s.Delete(ctx, created, client.PropagationPolicy(order)))
	}
	echo := &v1.Echo{}
	err := k8s.Get(ctx, client.ObjectKeyFromObject(created), echo)
	if apierrors.IsNotFound(err) {
		return "create", ignoreExisting(k8s.Create(ctx, created))
	}
	if err != nil {
		return "change", err
	}
	before := echo.DeepCopy()
	change(echo)
	return "change", client.IgnoreNotFound(k8s.Patch(ctx, echo, client.MergeFrom(before)))
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func pick[T any](c *churn, from []T) T { return from[c.random.IntN(len(from))] }

// change returns a random change to an Echo.
func (c *churn) change() func(*v1.Echo) {
	number := c.random.Int32N(100)
	on := number%2 == 0
	return pick(c, []func(*v1.Echo){
		func(e *v1.Echo) { e.Spec.Replicas = new(number % 4) },
		func(e *v1.Echo) { e.Spec.Paused = on },
		func(e *v1.Echo) { e.Spec.Port = []int32{8080, 8181, 9090}[number%3] },
		func(e *v1.Echo) { e.Spec.Image = []string{"", c.image}[number%2] },
		func(e *v1.Echo) {
			e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_INFO_COLOR", Value: fmt.Sprint(number)}}
		},
		func(e *v1.Echo) { e.Spec.Response = &v1.EchoResponse{StatusCode: http.StatusOK + number%2*4} },
		func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: on, Host: e.Name + ".example.com", Path: "/"}
		},
		func(e *v1.Echo) { e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: on} },
		func(e *v1.Echo) { e.Spec.DisruptionBudget.Enabled = &on },
		func(e *v1.Echo) { e.Spec.Service.Port = 80 + number },
	})
}

// settle stops the changes and lets the Echoes come to rest. It resumes paused Echoes, and creates missing Echoes and pods, so that
// companions exist.
func (c *churn) settle(ctx context.Context) {
	GinkgoHelper()
	c.end()
	Eventually(func(g Gomega) {
		supervise(ctx, g)
		for _, name := range c.names()[:2] {
			g.Expect(ignoreExisting(k8s.Create(ctx, support.Echo(c.namespace, name)))).To(Succeed())
		}
		for i, name := range c.owners()[:2] {
			g.Expect(ignoreExisting(k8s.Create(ctx, realcluster.WebPod(c.namespace, name, c.names()[i])))).To(Succeed())
		}
		list := &v1.EchoList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(c.namespace))).To(Succeed())
		for i := range list.Items {
			before := list.Items[i].DeepCopy()
			list.Items[i].Spec.Paused = false
			g.Expect(k8s.Patch(ctx, &list.Items[i], client.MergeFrom(before))).To(Succeed())
		}
		for _, name := range c.names()[:2] {
			g.Expect(list.Items).To(ContainElement(HaveField("Name", name)))
		}
		for _, echo := range list.Items {
			g.Expect(echo.DeletionTimestamp).To(BeNil(), "%s is being deleted", echo.Name)
		}
	}).WithContext(ctx).WithPolling(time.Second).Should(Succeed())
}
