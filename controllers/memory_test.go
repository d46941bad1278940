package controllers

import (
	"errors"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestFailures_toleratesOnlyRecentFailures(t *testing.T) {
	g := NewWithT(t)
	f, x, began := &failures{}, types.NamespacedName{Name: "x"}, time.Unix(1000, 0)
	tolerated := func(object types.NamespacedName, err error, after time.Duration) bool {
		return f.tolerate(object, status.Classify(err), began.Add(after)).Tolerated
	}
	refused := errors.New("refused")
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {Tolerance - 1, true}, {Tolerance, false}, {time.Hour, false}} {
		g.Expect(tolerated(x, refused, step.after)).To(Equal(step.want), "after %v", step.after)
	}
	g.Expect(tolerated(types.NamespacedName{Name: "y"}, refused, time.Hour)).To(BeTrue(), "the failure of another object counts")
	f.end(x, status.Classify(refused))
	g.Expect(tolerated(x, refused, time.Hour)).To(BeFalse(), "a failed reconcile ends the series")
	g.Expect(tolerated(x, &objects.InvalidSpecError{}, time.Hour)).To(BeFalse(), "a failure that only an edit can fix is tolerated")
	f.end(x, nil)
	g.Expect(tolerated(x, refused, 2*time.Hour)).To(BeTrue(), "a reconcile that succeeded does not end the series")
}

// TestFailures_slowsRetriesOfConflict counts the reconciles during a persistent conflict, which once caused 346 requests in 5 s.
func TestFailures_slowsRetriesOfConflict(t *testing.T) {
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("old"))
	f, reconciles := &failures{}, 0
	for after := time.Duration(0); ; reconciles++ {
		failure := f.tolerate(types.NamespacedName{}, status.Classify(stale), time.Unix(0, 0).Add(after))
		if !failure.Tolerated {
			break
		}
		after += failure.RetryAfter
	}
	if reconciles > 11 {
		t.Errorf("%d reconciles in %v", reconciles, Tolerance)
	}
}

func TestResultOf(t *testing.T) {
	no := errors.New("no")
	for name, c := range map[string]struct {
		failure *status.Failure
		after   time.Duration
		want    error
	}{
		"no error":             {after: time.Hour},
		"only an edit helps":   {&status.Failure{Err: no, Reason: v1.ReasonInvalidSpec, NoRetry: true}, 0, reconcile.TerminalError(no)},
		"nothing to do":        {&status.Failure{Err: no, NoRetry: true}, 0, nil},
		"waits for a name":     {&status.Failure{Err: no, Reason: v1.ReasonNameConflict, RetryAfter: time.Minute}, time.Minute, nil},
		"retried with backoff": {&status.Failure{Err: no, Reason: v1.ReasonApplyFailed, Transient: true}, 0, no},
		"silent, for a while":  {&status.Failure{Err: no, Transient: true, Tolerated: true}, 0, no},
	} {
		got, err := resultOf(time.Hour, c.failure)
		NewWithT(t).Expect(got.RequeueAfter).To(Equal(c.after), name)
		if c.want == nil {
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		} else {
			NewWithT(t).Expect(err).To(Equal(c.want), name)
		}
	}
}

func TestMemories_listsEach(t *testing.T) {
	memory := reflect.TypeFor[interface{ clear() }]()
	for _, r := range []interface{ Memories() []func() }{
		&EchoReconciler{}, &CheckReconciler{}, &PodMonitorReconciler{}, &CompanionReconciler{},
	} {
		want := count(reflect.TypeOf(r).Elem(), memory)
		if got := len(r.Memories()); got != want || want == 0 {
			t.Errorf("%T drops %d memories, and has %d", r, got, want)
		}
	}
}

// count returns how many fields of a type are memories.
func count(of, memory reflect.Type) int {
	n := 0
	for field := range of.Fields() {
		switch {
		case reflect.PointerTo(field.Type).Implements(memory):
			n++
		case field.Name == "memory":
			n += count(field.Type, memory)
		}
	}
	return n
}

func TestLastReports(t *testing.T) {
	g := NewWithT(t)
	l, pod := &lastReports{}, types.NamespacedName{Name: "p"}
	for i, step := range []struct {
		said string
		want bool
	}{{"", false}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", false}, {"b", true}} {
		g.Expect(l.replace(pod, step.said)).To(Equal(step.want), "step %d", i)
	}
	l.replace(pod, "")
	_, held := l.of.Load(pod)
	g.Expect(held).To(BeFalse())
}

// versioned returns an Echo's Service with a resource version.
func versioned(version string) *corev1.Service {
	service := OwnedService(StoredEcho())
	service.ResourceVersion = version
	return service
}

func TestExpectations_waitUntilCacheHoldsWrite(t *testing.T) {
	metadata := func(version string) client.Object {
		return &metav1.PartialObjectMetadata{Namespace: "ns", Name: "x", ResourceVersion: version}
	}
	one := StoredEcho(func(e *v1.Echo) { e.ResourceVersion = "10" })
	for name, c := range map[string]struct {
		before, after client.Object
		cached        []client.Object
		elapsed, want time.Duration
	}{
		"created":                   {nil, versioned("9"), nil, time.Second, time.Second},
		"created, long ago":         {nil, versioned("9"), nil, 9 * time.Second, time.Second},
		"created, too long ago":     {nil, versioned("9"), nil, cacheLag, 0},
		"changed":                   {versioned("9"), versioned("11"), []client.Object{versioned("9")}, 0, firstRetry},
		"changed, cached":           {versioned("9"), versioned("11"), []client.Object{versioned("11")}, 0, 0},
		"changed again":             {versioned("9"), versioned("11"), []client.Object{versioned("100")}, 0, 0},
		"changed, gone":             {versioned("9"), versioned("11"), nil, 0, 0},
		"the Echo":                  {one, metadata("11"), nil, 0, firstRetry},
		"the Echo, cached":          {one, metadata("10"), nil, 0, 0},
		"versions without an order": {versioned("a"), versioned("b"), []client.Object{versioned("c")}, 0, firstRetry},
	} {
		g, start := NewWithT(t), time.Unix(1000, 0)
		e := &expectations{}
		e.wrote(one, c.before, c.after, start)
		got, err := e.wait(t.Context(), New(t, c.cached...).Cache, one, start.Add(c.elapsed))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(got).To(Equal(c.want), name)
		_, kept := e.of.Load(client.ObjectKeyFromObject(one))
		g.Expect(kept).To(Equal(c.want > 0), name)
	}
}

// TestExpectations_ofAnotherEcho checks that a new Echo does not wait for the writes of a deleted Echo with the same name.
func TestExpectations_ofAnotherEcho(t *testing.T) {
	e, now := &expectations{}, time.Unix(1000, 0)
	e.wrote(StoredEcho(func(e *v1.Echo) { e.UID = "former" }), nil, versioned("9"), now)
	NewWithT(t).Expect(e.wait(t.Context(), New(t).Cache, StoredEcho(), now)).To(BeZero())
}

func TestReconcile_waitsUntilCacheHoldsOwnWrite(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	r := echoReconciler(w)
	request := requestForEcho()
	for i, writes := range []bool{true, false} {
		w.Writes = nil
		response, err := r.Reconcile(t.Context(), request)
		g.Expect(err).NotTo(HaveOccurred())
		wrote, waits := len(w.Writes) > 0, response.RequeueAfter == firstRetry
		g.Expect(wrote).To(Equal(writes), "reconcile %d", i)
		g.Expect(waits).To(Equal(!writes), "reconcile %d", i)
	}
}

func TestReconcile_forgetsMissingEcho(t *testing.T) {
	g := NewWithT(t)
	w := New(t)
	w.FailRead(1)
	r := echoReconciler(w)
	r.expectations.wrote(StoredEcho(), nil, versioned("9"), r.Now())
	g.Expect(r.Reconcile(t.Context(), requestForEcho())).Error().To(MatchError(ErrRefused))
	_, kept := r.expectations.of.Load(requestForEcho().NamespacedName)
	g.Expect(kept).To(BeTrue())
	g.Expect(r.Reconcile(t.Context(), requestForEcho())).Error().NotTo(HaveOccurred())
	_, kept = r.expectations.of.Load(requestForEcho().NamespacedName)
	g.Expect(kept).To(BeFalse())
}
