package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("companions of a killed operator", Label("slow"), func() {
	DescribeTable("exist exactly once for each owner after each step if the operator is killed",
		func(ctx SpecContext, kill func(ctx context.Context, issue, begun func())) {
			l := &life{namespace: namespaces.New(ctx)}
			l.echo = companionEcho(l.namespace, "beside", "1s")
			l.diary = keepDiary(ctx, l.namespace)
			createReady(ctx, l.echo)
			for _, step := range l.steps(ctx) {
				By(step.what)
				awaitLeader(ctx)
				since := len(l.diary.read())
				begun := func() { l.diary.await(ctx, since, step.sign) }
				kill(ctx, step.issue, begun)
				step.expect()
			}
		},
		Entry("before the step", SpecTimeout(20*time.Minute), func(ctx context.Context, issue, _ func()) {
			killOperator(ctx)
			issue()
		}),
		Entry("immediately after the step", SpecTimeout(20*time.Minute), func(ctx context.Context, issue, _ func()) {
			killOperatorAfter(ctx, issue)
		}),
		Entry("when the operator has started to act on the step", SpecTimeout(20*time.Minute), func(ctx context.Context, issue, begun func()) {
			killOperatorAfter(ctx, func() { issue(); begun() })
		}),
	)
})

// life tracks pods and their companions over several steps.
type life struct {
	namespace string
	echo      *v1.Echo
	owners    []*corev1.Pod
	// last maps the UID of each owner to the UID of its companion after the latest step.
	last  map[types.UID]types.UID
	diary *diary
}

// lifeStep is a change to an Echo, to its companions, or to the pods that own the companions.
type lifeStep struct {
	what  string
	issue func()
	// sign reports whether a diary entry shows that the operator has begun to act.
	sign   func(entry) bool
	expect func()
}

func (l *life) steps(ctx context.Context) []lifeStep {
	made := func(e entry) bool { return e.event == watch.Added }
	going := func(e entry) bool { return e.event == watch.Modified && !e.pod.DeletionTimestamp.IsZero() }
	one, another := func() { l.expectOne(ctx, false) }, func() { l.expectOne(ctx, true) }
	none := func() { l.expectNone(ctx) }
	answer := func() {
		edit(ctx, l.echo, func(s *v1.EchoSpec) { s.Response.StatusCode++ })
	}
	return []lifeStep{
		{"their owners are created", func() { l.makeOwners(ctx) }, made, one},
		{"the companions are deleted", func() { l.deleteCompanions(ctx) }, made, another},
		{"the response of the Echo changes, and the old companions are deleted", answer, going, another},
		{"the response of the Echo changes, and new companions are created", answer, made, another},
		{"their owners are replaced by pods with the same names", func() { l.deleteOwners(ctx); l.makeOwners(ctx) }, made, one},
		{"their owners lose the label", func() { l.label(ctx, nil) }, going, none},
		{"their owners get the label", func() { l.label(ctx, &l.echo.Name) }, made, one},
		{"the Echo is deleted", func() { Expect(k8s.Delete(ctx, l.echo)).To(Succeed()) }, going, func() { l.expectEchoGone(ctx); none() }},
		{"the Echo is created again", func() {
			l.echo = companionEcho(l.namespace, l.echo.Name, "1s")
			Expect(k8s.Create(ctx, l.echo)).To(Succeed())
		}, made, one},
		{"their owners are deleted", func() { l.deleteOwners(ctx) }, going, none},
	}
}

func (l *life) makeOwners(ctx context.Context) {
	GinkgoHelper()
	l.owners = nil
	for i := range 3 { // when the operator is killed, one reconcile may be complete, one in progress, and one not started yet
		owner := realcluster.WebPod(l.namespace, fmt.Sprintf("web-%d", i), l.echo.Name)
		Expect(k8s.Create(ctx, owner)).To(Succeed())
		l.owners = append(l.owners, owner)
	}
}

func (l *life) deleteOwners(ctx context.Context) {
	GinkgoHelper()
	for _, owner := range l.owners {
		Expect(k8s.Delete(ctx, owner, client.GracePeriodSeconds(0))).To(Succeed())
	}
	l.owners = nil
}

func (l *life) deleteCompanions(ctx context.Context) {
	GinkgoHelper()
	for _, companion := range companions(ctx, Default, l.namespace) {
		Expect(k8s.Delete(ctx, &companion)).To(Succeed())
	}
}

func (l *life) label(ctx context.Context, value *string) {
	GinkgoHelper()
	for _, owner := range l.owners {
		before := owner.DeepCopy()
		delete(owner.Labels, v1.CompanionLabel)
		if value != nil {
			owner.Labels[v1.CompanionLabel] = *value
		}
		Expect(k8s.Patch(ctx, owner, client.MergeFrom(before))).To(Succeed())
	}
}

// expectOne expects exactly one companion for each owner, and no other companions. If the argument another is true, each companion must be
// new.
func (l *life) expectOne(ctx context.Context, another bool) {
	GinkgoHelper()
	now := map[types.UID]types.UID{}
	for _, owner := range l.owners {
		replaced := types.UID("")
		if another {
			replaced = l.last[owner.UID]
		}
		companion := eventuallyCompanion(ctx, owner, replaced)
		Expect(companion.Spec.Containers[0].Env).To(ContainElement(
			corev1.EnvVar{Name: "ECHO_RESPONSE_STATUS", Value: fmt.Sprint(l.echo.Spec.Response.StatusCode)}))
		now[owner.UID] = companion.UID
	}
	l.last = now
	awaitLeader(ctx)
	Eventually(func(g Gomega) { g.Expect(companions(ctx, g, l.namespace)).To(HaveLen(len(l.owners))) }).WithContext(ctx).Should(Succeed())
}

// expectNone waits until the operator is running and there are no companions.
func (l *life) expectNone(ctx context.Context) {
	GinkgoHelper()
	awaitLeader(ctx)
	eventuallyNone(ctx, l.namespace)
}

func (l *life) expectEchoGone(ctx context.Context) {
	GinkgoHelper()
	Eventually(k8s.Get).WithContext(ctx).WithArguments(client.ObjectKeyFromObject(l.echo), &v1.Echo{}).Should(Satisfy(apierrors.IsNotFound))
	Expect(companions(ctx, Default, l.namespace)).To(BeEmpty(), "the companions must be gone before the Echo")
}

// entry records an event in the lifecycle of a companion.
type entry struct {
	at    time.Time
	event watch.EventType
	pod   *corev1.Pod
}

// diary records the events of all companions in a namespace, regardless of their labels.
type diary struct {
	lock    sync.Mutex
	entries []entry
	broken  bool
}

// keepDiary starts a diary, and checks it after the test.
func keepDiary(ctx context.Context, namespace string) *diary {
	GinkgoHelper()
	d := &diary{}
	watching, err := k8s.Watch(context.WithoutCancel(ctx), &corev1.PodList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for event := range watching.ResultChan() {
			d.write(event)
		}
		d.write(watch.Event{Type: watch.Error})
	}()
	DeferCleanup(func() {
		defer func() { watching.Stop(); <-stopped }()
		d.expectNeverTwo()
	})
	return d
}

func (d *diary) write(event watch.Event) {
	d.lock.Lock()
	defer d.lock.Unlock()
	pod, ok := event.Object.(*corev1.Pod)
	switch {
	case !ok || event.Type == watch.Error:
		d.broken = true
	case ownerOf(pod) != "":
		d.entries = append(d.entries, entry{time.Now(), event.Type, pod})
	}
}

func (d *diary) read() []entry {
	GinkgoHelper()
	d.lock.Lock()
	defer d.lock.Unlock()
	Expect(d.broken).To(BeFalse(), "the watch has ended")
	return d.entries
}

// await waits for a matching entry. since is the index of the first entry to consider.
func (d *diary) await(ctx context.Context, since int, sign func(entry) bool) {
	GinkgoHelper()
	Eventually(func() []entry { return d.read()[since:] }).WithContext(ctx).WithPolling(time.Millisecond).Should(ContainElement(Satisfy(sign)))
}

// expectNeverTwo expects that no pod ever had two companions, except while one of them was being deleted.
func (d *diary) expectNeverTwo() {
	GinkgoHelper()
	living := map[types.UID]types.UID{}
	for _, e := range d.read() {
		owner, lives := ownerOf(e.pod), e.event != watch.Deleted && e.pod.DeletionTimestamp.IsZero()
		GinkgoWriter.Println(e.at.Format(time.StampMilli), e.event, e.pod.Name, e.pod.UID, "of", owner, "living:", lives)
		if other := living[owner]; lives {
			Expect(other).To(Or(BeEmpty(), Equal(e.pod.UID)), "%s is the second companion of %s", e.pod.Name, owner)
			living[owner] = e.pod.UID
		} else if other == e.pod.UID {
			delete(living, owner)
		}
	}
}

// ownerOf returns the UID of the pod that a companion belongs to, or "" for other pods.
func ownerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Pod" {
		return owner.UID
	}
	return ""
}
