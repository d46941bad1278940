package controllers

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestConverge_writesNothingIfRejectedOrPaused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*v1.Echo)
		refused bool
	}{
		"refused": {func(e *v1.Echo) { e.Spec.Replicas = new(int32(21)) }, true},
		"paused":  {func(e *v1.Echo) { e.Spec.Paused = true }, false},
	} {
		w := New(t, StoredEcho(c.change))
		_, err := echoReconciler(w).converge(t.Context(), w.Current(t))
		if w.Writes != nil || c.refused != errors.As(err, new(*objects.InvalidSpecError)) {
			t.Errorf("%s: the reconcile wrote %v: %v", name, w.Writes, err)
		}
	}
}

func TestEnsureChild_readsLiveOnlyAfterConflict(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "x", errors.New("it exists"))
	foreign := &corev1.Service{Namespace: "ns", Name: "x"}
	for name, c := range map[string]struct {
		live   []client.Object
		answer error
		writes []string
		taken  bool
	}{
		"of another owner": {[]client.Object{foreign}, conflict, []string{"apply Service"}, true},
		"not in the cache yet": {[]client.Object{OwnedService(StoredEcho())}, conflict,
			[]string{"apply Service", "apply Service"}, false},
		"gone meanwhile": {nil, conflict, []string{"apply Service"}, false},
		"refused":        {[]client.Object{foreign}, ErrRefused, []string{"apply Service"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewLate(t, nil, c.live)
			w.Fail = func(string) error { return c.answer }
			err := echoReconciler(w).ensureChild(t.Context(), StoredEcho(), &ensuredChild{child: service(t)})
			if taken := errors.As(err, new(*objects.NameConflictError)); taken != c.taken || !taken && !errors.Is(err, c.answer) {
				t.Errorf("got %v", err)
			}
			NewWithT(t).Expect(w.Writes).To(HaveExactElements(c.writes))
		})
	}
}

func TestAddFinalizer_writesOnce(t *testing.T) {
	g := NewWithT(t)
	echo := StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} })
	w := New(t, echo)
	g.Expect(w.Server.Get(t.Context(), client.ObjectKeyFromObject(echo), echo)).To(Succeed())
	for range 2 {
		g.Expect(echoReconciler(w).addFinalizer(t.Context(), echo)).To(Succeed())
	}
	g.Expect(w.Writes).To(HaveExactElements("patch x"))
	for _, got := range []*v1.Echo{echo, w.Current(t)} {
		g.Expect(got.Finalizers).To(HaveExactElements("example.org/theirs", v1.Finalizer))
	}
}

func TestAddFinalizer_rejectsOutdatedEcho(t *testing.T) {
	old := StoredEcho(func(e *v1.Echo) { e.ResourceVersion, e.Finalizers = "1", nil })
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Finalizers = nil }))
	NewWithT(t).Expect(echoReconciler(w).addFinalizer(t.Context(), old)).To(Satisfy(apierrors.IsConflict))
}

// TestConverge_correctsContestedFieldLessOften simulates another client that undoes each correction for ten minutes. The fake API server does
// not store what is applied.
func TestConverge_correctsContestedFieldLessOften(t *testing.T) {
	g := NewWithT(t)
	deployment := &appsv1.Deployment{ObjectMeta: *OwnedService(StoredEcho()).ObjectMeta.DeepCopy(),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	w := New(t, StoredEcho(), OwnedService(StoredEcho()), deployment)
	now := w.Dependencies.Now()
	w.Dependencies.Now = func() time.Time { return now }
	r := echoReconciler(w)
	corrections := func() int {
		g.Expect(strings.Count(strings.Join(w.Writes, "|"), "apply Deployment")).To(
			Equal(strings.Count(strings.Join(w.Writes, "|"), "apply Service")), "both children are contested")
		return strings.Count(strings.Join(w.Writes, "|"), "apply Service")
	}
	for i := range 600 {
		g.Expect(r.reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
		w.Events() // makes room for more
		if i == 1 {
			g.Expect(corrections()).To(Equal(2), "the first corrections are immediate")
		}
		now = now.Add(time.Second)
	}
	g.Expect(corrections()).To(BeNumerically("<=", 10))
	g.Expect(w.Current(t).Status.Message).To(ContainSubstring("Another client keeps changing metadata"))
	now = now.Add(longestCorrectionWait)
	seen, err := r.converge(t.Context(), w.Current(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seen.CorrectedAfter).To(Equal(longestCorrectionWait))
	changed := w.Current(t)
	changed.Generation++
	before := corrections()
	g.Expect(r.converge(t.Context(), changed)).Error().NotTo(HaveOccurred())
	g.Expect(corrections()).To(Equal(before+1), "a new spec is applied at once")
}

// TestEnsureChild_correctsContestedLabelLessOften simulates another client that removes the label of a child, so that the cache loses it.
func TestEnsureChild_correctsContestedLabelLessOften(t *testing.T) {
	w := NewLate(t, nil, []client.Object{StoredEcho(), OwnedService(StoredEcho())})
	now := w.Dependencies.Now()
	w.Dependencies.Now = func() time.Time { return now }
	r := echoReconciler(w)
	corrections := -600 // because each call first tries to create the child
	for range 600 {
		var exists error = apierrors.NewConflict(schema.GroupResource{}, "x", nil)
		w.Fail = func(string) (err error) {
			corrections++
			err, exists = exists, nil
			return err
		}
		NewWithT(t).Expect(r.ensureChild(t.Context(), StoredEcho(), &ensuredChild{child: service(t)})).To(Succeed())
		now = now.Add(time.Second)
	}
	NewWithT(t).Expect(corrections).To(And(BeNumerically(">", 3), BeNumerically("<=", 10)))
}

// TestConverge_replacesContestedServiceLessOften gives each new Service another load balancer class, as a webhook may do.
func TestConverge_replacesContestedServiceLessOften(t *testing.T) {
	g := NewWithT(t)
	echo := StoredEcho(func(e *v1.Echo) {
		e.Spec.Service.Type, e.Spec.Service.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, "example.com/ours"
	})
	w := New(t, echo)
	now := w.Dependencies.Now()
	w.Dependencies.Now = func() time.Time { return now }
	r := echoReconciler(w)
	for range 600 {
		theirs := OwnedService(echo)
		theirs.Spec.Type, theirs.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, new("example.com/theirs")
		_ = w.Server.Create(t.Context(), theirs) // if it was deleted
		g.Expect(r.reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
		w.Events() // makes room for more
		now = now.Add(time.Second)
	}
	g.Expect(strings.Count(strings.Join(w.Writes, "|"), "delete x")).To(And(BeNumerically(">", 2), BeNumerically("<=", 10)))
}

func TestReadOwned(t *testing.T) {
	echo := StoredEcho()
	foreign := &corev1.Service{Namespace: "ns", Name: "x"}
	earlier := OwnedService(StoredEcho(func(e *v1.Echo) { e.UID = "of an earlier Echo" }))
	none, own := []client.Object{}, []client.Object{OwnedService(echo)}
	for name, c := range map[string]struct {
		cached, live []client.Object
		unwanted     bool
		found, taken bool
	}{
		"absent":                         {cached: none, live: none},
		"cached":                         {cached: own, live: own, found: true},
		"not in the cache yet":           {cached: none, live: own, found: true},
		"without the operator's label":   {cached: none, live: []client.Object{foreign}, taken: true},
		"of another client":              {cached: []client.Object{foreign}, live: []client.Object{foreign}, taken: true},
		"of an earlier Echo":             {cached: []client.Object{earlier}, live: []client.Object{earlier}, taken: true},
		"of an earlier Echo, replaced":   {cached: []client.Object{earlier}, live: own, found: true},
		"of another client, not desired": {cached: []client.Object{foreign}, live: []client.Object{foreign}, unwanted: true},
		"cached, but not desired":        {cached: own, live: own, unwanted: true, found: true},
		"deleted, which the cache lags":  {cached: []client.Object{earlier}, live: none},
	} {
		t.Run(name, func(t *testing.T) {
			child := service(t)
			if c.unwanted {
				child.Desired = nil
			}
			w := NewLate(t, c.cached, c.live)
			got, err := w.Dependencies.readOwned(t.Context(), w.Cache, echo, child)
			if taken := errors.As(err, new(*objects.NameConflictError)); taken != c.taken || !taken && err != nil || (got != nil) != c.found {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// TestFind_sendsNoRequestForEmptyName uses no reader, so that a request would fail.
func TestFind_sendsNoRequestForEmptyName(t *testing.T) {
	echo, err := find(t.Context(), nil, client.ObjectKey{Namespace: "ns"}, StoredEcho())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(echo).To(BeNil())
}

// routed makes an Echo request an HTTPRoute.
func routed(e *v1.Echo) {
	e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "public"}}}
}

// TestEnsureAll_reportsKindNoLongerServed checks that the other children are still created, because the operator restarts later.
func TestEnsureAll_reportsKindNoLongerServed(t *testing.T) {
	kind := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
	denied := &apierrors.StatusError{}
	denied.ErrStatus.Code, denied.ErrStatus.Message = 404, `admission webhook "w" denied the request: no`
	for name, c := range map[string]struct {
		refusal error
		lasts   time.Duration
		gone    bool
	}{
		"not served":      {apierrors.NewNotFound(kind, "x"), Tolerance, true},
		"not found once":  {apierrors.NewNotFound(kind, "x"), Tolerance - 1, false},
		"about to vanish": {apierrors.NewMethodNotSupported(kind, "create"), Tolerance, true},
		"another error":   {ErrRefused, Tolerance, false},
		"a denial":        {denied, Tolerance, false},
	} {
		w := New(t, StoredEcho(routed))
		w.FailOn("apply HTTPRoute", c.refusal)
		r := echoReconciler(w)
		r.Gateways.Served = objects.Served{"HTTPRoute": true}
		r.failures.set(client.ObjectKeyFromObject(w.Current(t)), r.Now().Add(-c.lasts))
		seen, err := r.converge(t.Context(), w.Current(t))
		gone := len(seen.Unserved) == 1 && seen.Unserved[0] == (status.Unserved{Kind: "HTTPRoute"})
		if gone != c.gone || c.gone != (err == nil) {
			t.Errorf("%s: got %v, %v", name, seen.Unserved, err)
		}
	}
}

func TestConverge_reportsUnavailableKinds(t *testing.T) {
	for name, c := range map[string]struct {
		gateways GatewayAPI
		want     []status.Unserved
	}{
		"not served":  {GatewayAPI{}, []status.Unserved{{Kind: "HTTPRoute"}}},
		"refused":     {GatewayAPI{Refused: map[string]string{"HTTPRoute": "no"}}, []status.Unserved{{Kind: "HTTPRoute", Refused: "no"}}},
		"not known":   {GatewayAPI{Unknown: true, Refused: map[string]string{"HTTPRoute": "503"}}, []status.Unserved{{Kind: "HTTPRoute", Refused: "503"}}},
		"no Gateways": {GatewayAPI{Served: objects.Served{"HTTPRoute": true}, Refused: map[string]string{"Gateway": "no"}}, nil},
	} {
		w := New(t, StoredEcho(routed))
		r := echoReconciler(w)
		r.Gateways = c.gateways
		seen, err := r.converge(t.Context(), w.Current(t))
		if err != nil || seen.GatewaysUnknown != c.gateways.Unknown || seen.GatewaysRefused != c.gateways.Refused["Gateway"] {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
		NewWithT(t).Expect(seen.Unserved).To(HaveExactElements(c.want), name)
	}
}
