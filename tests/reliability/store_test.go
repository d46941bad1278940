package reliability

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// objectKey identifies an object in the store.
type objectKey struct{ resource, namespace, name string }

func (k objectKey) String() string { return k.resource + " " + k.namespace + "/" + k.name }

// change is a change to an object. For a creation, before is nil, and for a deletion, after is nil.
type change struct {
	objectKey
	before, after *unstructured.Unstructured
}

// store contains a simulated API server's objects and their history. A stored object is never modified, only replaced.
type store struct {
	lock    sync.Mutex
	objects map[objectKey]*unstructured.Unstructured
	log     []change
	// created counts how often each object was created.
	created map[objectKey]int
	// forced is true during another client's action that would otherwise count as a broken promise.
	forced bool
	// broken contains the promises that the operator's writes broke, even if the final state is correct.
	broken []string
	// heard is the last time when the operator received a change, one of its writes completed, or a fault ended.
	heard time.Time
	// known contains the objects that the operator last read from the API server.
	known map[objectKey]*unstructured.Unstructured
}

func newStore() *store {
	return &store{objects: map[objectKey]*unstructured.Unstructured{}, created: map[objectKey]int{}, known: map[objectKey]*unstructured.Unstructured{}}
}

func (k objectKey) notFound() error {
	return apierrors.NewNotFound(kinds[k.resource].groupResource(k.resource), k.name)
}

func (k objectKey) conflict(why string) error {
	return apierrors.NewConflict(kinds[k.resource].groupResource(k.resource), k.name, errors.New(why))
}

// get returns an object, or nil if it does not exist.
func (s *store) get(k objectKey) *unstructured.Unstructured {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.objects[k]
}

// read returns an object for the operator, or nil if it does not exist. The operator hears of changes to foreign objects only here.
func (s *store) read(k objectKey) *unstructured.Unstructured {
	s.lock.Lock()
	defer s.lock.Unlock()
	was, now := s.known[k], s.objects[k]
	if was != now && (isForeign(was) || isForeign(now)) {
		s.heard = time.Now()
	}
	s.known[k] = now
	return now
}

// list returns the objects of a resource, sorted by name.
func (s *store) list(resource string) []*unstructured.Unstructured {
	s.lock.Lock()
	defer s.lock.Unlock()
	var found []*unstructured.Unstructured
	for _, k := range slices.SortedFunc(maps.Keys(s.objects), func(a, b objectKey) int {
		return slices.Compare([]string{a.namespace, a.name}, []string{b.namespace, b.name})
	}) {
		if k.resource == resource {
			found = append(found, s.objects[k])
		}
	}
	return found
}

// commits returns the number of changes so far.
func (s *store) commits() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.log)
}

// write passes a copy of an object to a function, and replaces the object with the result. The copy is nil if the object does not exist. If
// the result is nil, write removes the object. If nothing changes, write stores nothing.
func (s *store) write(k objectKey,
	change func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	before := s.objects[k]
	after, err := change(before.DeepCopy())
	if err != nil || before == nil && after == nil {
		return nil, err
	}
	if before != nil && after != nil && unchanged(before, after) {
		return before, nil
	}
	return s.commit(k, before, after), nil
}

// unchanged reports whether two versions of an object are equal, apart from resource versions and the times in managed fields.
func unchanged(before, after *unstructured.Unstructured) bool {
	plain := func(o *unstructured.Unstructured) map[string]any {
		o = o.DeepCopy()
		entries := o.GetManagedFields()
		for i := range entries {
			entries[i].Time = nil
		}
		o.SetManagedFields(entries)
		o.SetResourceVersion("")
		return o.Object
	}
	return equality.Semantic.DeepEqual(plain(before), plain(after))
}

// commit stores a new version of an object. It removes an object that is being deleted and has no finalizers.
func (s *store) commit(k objectKey, before, after *unstructured.Unstructured) *unstructured.Unstructured {
	answer := after
	if after != nil {
		s.complete(k, before, after)
		if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
			after = nil
		}
	}
	s.log = append(s.log, change{k, before, after})
	if after == nil {
		delete(s.objects, k)
		s.expectNoChildren(k, before)
		return answer
	}
	s.objects[k] = after
	s.expectStalled(k, after)
	return after
}

// complete sets the fields that a real API server sets.
func (s *store) complete(k objectKey, before, after *unstructured.Unstructured) {
	if before == nil {
		s.created[k]++ // companions' names depend on UIDs, so the UIDs must not depend on the order of requests
		after.SetUID(types.UID(fmt.Sprintf("%s-%s-%d", k.resource, k.name, s.created[k])))
		after.SetCreationTimestamp(metav1.NewTime(time.Now()))
		after.SetGeneration(1)
	} else {
		after.SetUID(before.GetUID())
		after.SetGeneration(before.GetGeneration())
		if !equality.Semantic.DeepEqual(before.Object["spec"], after.Object["spec"]) ||
			before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil {
			after.SetGeneration(before.GetGeneration() + 1)
		}
	}
	after.SetResourceVersion(strconv.Itoa(len(s.log) + 1))
}

// expectNoChildren records a broken promise if an Echo was removed before the objects that were created for it, including objects whose
// labels another client removed. Orphaned objects and their dependents may remain. CronJobs may also remain until the garbage collector
// deletes them, because the pods of checks serve no clients.
func (s *store) expectNoChildren(gone objectKey, echo *unstructured.Unstructured) {
	if gone.resource != "echoes" || s.forced {
		return
	}
	kept := map[types.UID]bool{orphanedReplicaSet: true}
	for _, o := range s.objects {
		kept[o.GetUID()] = metav1.GetControllerOf(o) == nil
	}
	for k, o := range s.objects {
		owner := metav1.GetControllerOf(o)
		if owner == nil || k.namespace != gone.namespace || k.resource == "cronjobs" {
			continue
		}
		labeled := o.GetLabels()["app.kubernetes.io/instance"] == gone.name && isOperators(o)
		if owner.UID == echo.GetUID() || labeled && !kept[owner.UID] {
			s.broken = append(s.broken, fmt.Sprintf("%s was removed before %s", gone, k))
		}
	}
}

func isOperators(o *unstructured.Unstructured) bool {
	return o.GetLabels()["app.kubernetes.io/managed-by"] == "echo-operator"
}

// apply uses server-side apply to update an object to a field manager's desired state.
func (s *store) apply(k objectKey, want *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
	return s.write(k, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if uid := want.GetUID(); uid != "" && (live == nil || live.GetUID() != uid) {
			return nil, k.conflict("Precondition failed: UID in precondition")
		}
		if live != nil && want.GetResourceVersion() != "" { // if the object is missing, apply creates it, as a real API server does
			return nil, k.conflict("the object has been modified; please apply your changes to the latest version and try again")
		}
		if isForeign(live) {
			s.broken = append(s.broken, "an object of another client was changed: "+k.String())
		}
		if live == nil {
			live = &unstructured.Unstructured{Object: map[string]any{}}
			live.SetGroupVersionKind(want.GroupVersionKind())
		}
		after, err := kinds[k.resource].fields().Apply(live, want, manager, force)
		if err != nil {
			return nil, err
		}
		return after.(*unstructured.Unstructured), kinds[k.resource].validate(after.(*unstructured.Unstructured))
	})
}

// patch merges the operator's JSON merge patch into an object, or into its status.
func (s *store) patch(k objectKey, part string, patch []byte, manager string) (*unstructured.Unstructured, error) {
	return s.write(k, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, k.notFound()
		}
		after, err := merge(live, patch)
		if err != nil {
			return nil, err
		}
		if version := after.GetResourceVersion(); version != live.GetResourceVersion() {
			return nil, k.conflict("the object has been modified; please apply your changes to the latest version and try again")
		}
		s.expectTimely(k, live, after)
		return kinds[k.resource].replace(live, after, part, manager)
	})
}

func merge(live *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	if text, err = jsonpatch.MergePatch(text, patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after := &unstructured.Unstructured{}
	return after, after.UnmarshalJSON(text)
}

// edit changes an existing object on behalf of another client.
func (s *store) edit(k objectKey, change func(object map[string]any)) {
	_, err := s.write(k, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, nil //nolint:nilnil // there is nothing to change
		}
		after := live.DeepCopy()
		change(after.Object)
		return kinds[k.resource].replace(live, after, "", "another client")
	})
	utilruntime.Must(err)
}

// remove deletes an object. Depending on the options, its dependents are deleted before it, after it, or not at all.
func (s *store) remove(k objectKey, options metav1.DeleteOptions) error {
	_, err := s.write(k, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, k.notFound()
		}
		if p := options.Preconditions; p != nil && (p.UID != nil && *p.UID != live.GetUID() ||
			p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion()) {
			return nil, k.conflict("Precondition failed")
		}
		if live.GetDeletionTimestamp() == nil {
			now := metav1.NewTime(time.Now())
			live.SetDeletionTimestamp(&now)
			live.SetFinalizers(append(live.GetFinalizers(), finalizersOf(options)...))
		}
		return live, nil
	})
	return err
}

// removeOwn deletes an object on behalf of the operator. The operator may delete only its own objects.
func (s *store) removeOwn(k objectKey, options metav1.DeleteOptions) error {
	foreign := isForeign(s.get(k))
	err := s.remove(k, options)
	if foreign && err == nil {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.broken = append(s.broken, "an object of another client was deleted: "+k.String())
	}
	return err
}

// finalizersOf returns the finalizers that determine what the garbage collector does with an object's dependents.
func finalizersOf(options metav1.DeleteOptions) []string {
	switch p := options.PropagationPolicy; {
	case p == nil:
		return nil
	case *p == metav1.DeletePropagationForeground:
		return []string{metav1.FinalizerDeleteDependents}
	case *p == metav1.DeletePropagationOrphan:
		return []string{metav1.FinalizerOrphanDependents}
	default:
		return nil
	}
}
