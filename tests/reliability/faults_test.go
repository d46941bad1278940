package reliability

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/echo-operator/echo-operator/tests/support"
)

// fault is a failure that may affect a request.
type fault struct {
	name string
	// done is true if the request takes effect before the fault.
	done bool
	// answer is the error in the API server's response.
	answer error
	// breaks is true if the connection breaks. hangs is true if no response arrives before the client gives up.
	breaks, hangs bool
	// crashes is true if the process exits immediately. stops is true if the process is asked to exit.
	crashes, stops bool
	// old is the number of recent changes to the request's resource that the restarted process does not know about at first.
	old int
	// foreign is another client's action before the request.
	foreign func(*simulation, call)
	// promises is true if the fault changes the final state. Then, only the operator's promises can be checked.
	promises bool
	// visible is true if the status and the events may report the fault.
	visible bool
}

// refusals contains errors that an API server returns.
var refusals = []fault{
	{name: "403", answer: apierrors.NewForbidden(things, "x", errors.New("no")), visible: true},
	{name: "404", answer: apierrors.NewNotFound(things, "x")},
	{name: "409", answer: apierrors.NewConflict(things, "x", errors.New("old"))},
	{name: "422", answer: apierrors.NewInvalid(schema.GroupKind{}, "x", nil), visible: true},
	{name: "429", answer: apierrors.NewTooManyRequests("later", 1)},
	{name: "500", answer: apierrors.NewInternalError(errors.New("etcd"))},
	{name: "503", answer: apierrors.NewServiceUnavailable("no")},
}

var things = schema.GroupResource{Resource: "things"}

// crashes contains the faults that make the process exit.
var crashes = []fault{
	{name: "crash before", crashes: true},
	{name: "crash after", crashes: true, done: true},
	{name: "stop before", stops: true},
	{name: "stop after", stops: true, done: true},
	{name: "crash after, and start with one change missing", crashes: true, done: true, old: 1},
	{name: "crash after, and start with two changes missing", crashes: true, done: true, old: 2},
}

// losses contains the faults after which the client does not know whether the request took effect.
var losses = []fault{
	{name: "500 after", answer: apierrors.NewInternalError(errors.New("etcd")), done: true},
	{name: "broken connection before", breaks: true},
	{name: "broken connection after", breaks: true, done: true},
	{name: "no response before", hangs: true, visible: true},
	{name: "no response after", hangs: true, done: true, visible: true},
}

// place identifies the nth request, counted from 1, with a given name in a run or, if the name is empty, after the previous fault.
type place struct {
	name string
	nth  int
}

func (p place) String() string {
	if p.name == "" {
		return fmt.Sprintf("request %d after that", p.nth)
	}
	return fmt.Sprintf("%s (%d)", p.name, p.nth)
}

// planned is a fault that affects the request at a place.
type planned struct {
	fault
	at place
}

// plan describes the faults in a run.
type plan struct {
	faults []planned
	holds  []hold
	// tampered is a watch event that is tampered with. It can be nil.
	tampered *tampered
	// amnesia is the seed that determines when the operator loses its memory, or 0 for no amnesia.
	amnesia int64
}

func (p plan) String() string {
	var words []string
	for _, f := range p.faults {
		words = append(words, f.name+" at "+f.at.String())
	}
	for _, h := range p.holds {
		words = append(words, h.String())
	}
	if p.tampered != nil {
		words = append(words, p.tampered.String())
	}
	if p.amnesia != 0 {
		words = append(words, fmt.Sprintf("amnesia %d", p.amnesia))
	}
	return strings.Join(words, ", ")
}

const (
	// healthCheck is the time after which an HTTP/2 client closes a silent connection: client-go's ReadIdleTimeout plus PingTimeout.
	healthCheck = 45 * time.Second
	// endless is longer than any run takes.
	endless = 1000 * time.Hour
)

// injector causes a plan's faults, one after another.
type injector struct {
	plan
	in    *simulation
	lock  sync.Mutex
	calls map[string]int
	order []place
	// hits is the number of faults so far, and since is the number of requests after the last fault.
	hits, since int
	// released is true after all held-back watches have caught up.
	released bool
	// targets contains the streams that are tampered with. expired is the number of watches to reject, and outdated is the number of lists that
	// will be outdated. healed is true after the operator was made to list the objects again.
	targets           []*stream
	expired, outdated int
	healed            bool
}

// next assigns a number to a request, and returns the request's fault, if any.
func (i *injector) next(to call) (fault, bool) {
	i.lock.Lock()
	defer i.lock.Unlock()
	name := to.String()
	i.calls[name]++
	i.since++
	at := place{name, i.calls[name]}
	i.order = append(i.order, at)
	if i.hits >= len(i.faults) { // tampering also counts
		return fault{}, false
	}
	f := i.faults[i.hits]
	if f.at != at && (f.at.name != "" || f.at.nth != i.since) {
		return fault{}, false
	}
	i.hits, i.since = i.hits+1, 0
	if f.old > 0 {
		i.holds = append(i.holds, hold{resource: to.resource, lag: f.old, from: 1})
	}
	return f.fault, true
}

// happen sends a request, causes a fault, or does both.
func (i *injector) happen(p *process, to call, send func() (*http.Response, error)) (*http.Response, error) {
	if p.crashed.Load() {
		if err := p.wait(to.Request, endless); to.Method != http.MethodGet || to.Context().Err() != nil {
			return nil, err
		}
		return send()
	}
	f, found := i.next(to)
	if found || to.Method != http.MethodGet {
		defer i.in.hear()
	}
	if !found {
		return send()
	}
	if f.foreign != nil {
		f.foreign(i.in, to)
		return send()
	}
	if f.done {
		if _, err := send(); err != nil {
			return nil, err
		}
	}
	p.crashed.Store(f.crashes || p.crashed.Load())
	p.stopping.Store(f.stops || p.stopping.Load())
	switch {
	case f.breaks:
		return nil, syscall.ECONNRESET
	case f.hangs && to.Method == http.MethodGet && to.name == "": // the client has no timeout for these requests
		return nil, p.wait(to.Request, healthCheck)
	case f.crashes, f.stops, f.hangs:
		return nil, p.wait(to.Request, endless)
	default:
		return respond(to.Request, nil, f.answer)
	}
}

// applies reports whether a fault can affect a request and is not equivalent to another fault. For a read, it makes no difference whether
// the fault precedes or follows the request.
func (f fault) applies(at place) bool {
	verb, _, _ := strings.Cut(at.name, " ")
	switch verb {
	case "get", "list":
		return !f.done && !apierrors.IsNotFound(f.answer) // the API server never reports an existing object as missing
	case "watch":
		return f.answer != nil && !f.done && !apierrors.IsInvalid(f.answer)
	default:
		return true
	}
}

// hold delays a resource's watch, so that the operator's cache is outdated.
type hold struct {
	resource string
	// from is the number of the first change that is late, counted from 1.
	from int
	// lag is how many changes the watch lags behind, or 0 if it reports no further changes. It catches up when nothing else is left to do.
	lag int
}

func (h hold) String() string {
	if h.lag == 0 {
		return fmt.Sprintf("%s held back from change %d", h.resource, h.from)
	}
	return fmt.Sprintf("%s %d changes late from change %d", h.resource, h.lag, h.from)
}

// known returns how many changes in a log a resource's watch may report.
func (i *injector) known(resource string, log []change) int {
	i.lock.Lock()
	defer i.lock.Unlock()
	known := len(log)
	for _, h := range i.holds {
		if h.resource == resource && !i.released {
			known = min(known, h.known(log))
		}
	}
	return known
}

// known returns how many changes in a log precede the first change that is held back.
func (h hold) known(log []change) int {
	places := changesOf(h.resource, log)
	first := h.from - 1
	if h.lag > 0 {
		first = max(first, len(places)-h.lag)
	}
	if first >= len(places) {
		return len(log)
	}
	return places[first]
}

// release lets all watches catch up. It reports whether any watch was held back.
func (i *injector) release() bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	held := len(i.holds) > 0 && !i.released
	i.released = i.released || held
	return held
}

// foreigners returns the faults that another client causes just before a request. Faults that the operator must correct happen only while
// the operator works on the Echo.
func foreigners() []fault {
	return []fault{
		{name: "the next step", foreign: func(s *simulation, _ call) {
			if !s.ordered {
				s.step()
			}
		}},
		{name: "the object deleted", foreign: func(s *simulation, to call) {
			if o := s.get(to.objectKey); o != nil && isOperators(o) && metav1.GetControllerOf(o) != nil {
				s.drop(to.objectKey)
			}
		}},
		{name: "the object replaced", promises: true, foreign: replace},
		{name: "the Echo changed and restored", foreign: active(changeAndBack)},
		{name: "the Echo created again", foreign: active(createAgain)},
		{name: "the finalizer removed", foreign: active(func(s *simulation) {
			s.edit(echoKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
		})},
		{name: "the status changed", foreign: active(func(s *simulation) {
			s.setStatus(echoKey, wrongStatus())
		})},
		{name: "the Service changed", foreign: active(func(s *simulation) {
			if o := s.get(serviceKey); o != nil && isOperators(o) {
				s.edit(serviceKey, editPort)
			}
		})},
		{name: "the labels removed", foreign: active(func(s *simulation) {
			removeLabels(deploymentKey)(s)
			enabled, set, _ := unstructured.NestedBool(s.get(echoKey).Object, "spec", "disruptionBudget", "enabled")
			if s.get(budgetKey) != nil && (enabled || !set) { // otherwise, it stays until the Echo is deleted
				removeLabels(budgetKey)(s)
			}
		})},
	}
}

// active limits another client's action to times when an Echo exists and is neither paused nor being deleted.
func active(do func(*simulation)) func(*simulation, call) {
	return func(s *simulation, _ call) {
		o := s.get(echoKey)
		if o == nil || o.GetDeletionTimestamp() != nil || s.ordered {
			return
		}
		if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
			do(s)
		}
	}
}

// replace deletes one of the operator's objects, and creates another client's object with the same name.
func replace(s *simulation, to call) {
	old := s.get(to.objectKey)
	if old == nil || to.resource == "echoes" || metav1.GetControllerOf(old) == nil || len(old.GetFinalizers()) > 0 {
		return
	}
	s.drop(to.objectKey)
	theirs := old.DeepCopy()
	for _, field := range []string{"labels", "ownerReferences", "managedFields", "uid", "finalizers"} {
		unstructured.RemoveNestedField(theirs.Object, "metadata", field)
	}
	s.create(to.objectKey, theirs.Object)
}

// force runs another client's action that would otherwise count as a broken promise.
func (s *simulation) force(do func()) {
	set := func(forced bool) {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.forced = forced
	}
	set(true)
	defer set(false)
	do()
}

func changeAndBack(s *simulation) {
	for _, by := range []int64{1, -1} {
		s.edit(echoKey, func(o map[string]any) {
			spec := o["spec"].(map[string]any)
			spec["replicas"] = spec["replicas"].(int64) + by
		})
	}
}

// createAgain deletes the Echo and creates it again with the same spec.
func createAgain(s *simulation) {
	again := support.Echo("ns", "x")
	convert(s.get(echoKey).Object["spec"], &again.Spec)
	s.force(func() {
		s.edit(echoKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
		s.drop(echoKey)
	})
	s.create(echoKey, again)
}

// isForeign reports whether an object exists and the operator did not create it.
func isForeign(o *unstructured.Unstructured) bool {
	return o != nil && !isOperators(o) && metav1.GetControllerOf(o) == nil
}
