package reliability

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// outcome is the result of a run.
type outcome struct {
	// state contains the objects as text, without values that differ between two runs of the same scenario.
	state map[string]string
	// events contains the events that were sent, in alphabetical order.
	events []string
	// broken contains the promises that the operator broke.
	broken []string
	// order contains the requests that were sent, and log contains the changes to objects.
	order []place
	log   []change
	hits  int
	// losses counts how often the operator lost one of its memories.
	losses int64
}

// outcome returns the result of the run.
func (s *simulation) outcome() outcome {
	s.lock.Lock()
	defer s.lock.Unlock()
	o := outcome{state: map[string]string{}, events: slices.Sorted(slices.Values(s.sent)), broken: s.broken, order: s.faults.order,
		log: s.log, hits: s.faults.hits, losses: s.amnesia.losses.Load()}
	for k, object := range s.objects {
		o.state[k.String()] = asText(object)
	}
	return o
}

// expectStalled records a broken promise if an Echo's Stalled condition contradicts its other conditions.
func (s *store) expectStalled(k objectKey, after *unstructured.Unstructured) {
	if k.resource != "echoes" {
		return
	}
	if problem := support.StalledProblem(after); problem != "" {
		s.broken = append(s.broken, problem)
	}
}

// expectTimely records a broken promise if the operator reports a cause more than controllers.Tolerance after learning about it.
func (s *store) expectTimely(k objectKey, before, after *unstructured.Unstructured) {
	if k.resource != "echoes" || reflect.DeepEqual(conditionsOf(before), conditionsOf(after)) {
		return
	}
	if late := time.Since(s.heard); late > controllers.Tolerance {
		s.broken = append(s.broken, fmt.Sprintf("a cause was reported after %s: %v, then %v", late, conditionsOf(before), conditionsOf(after)))
	}
}

// conditionsOf returns the conditions of an object, without values that differ between two runs.
func conditionsOf(object *unstructured.Unstructured) any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return strip(conditions)
}

// hear records that the operator has something new to report.
func (s *store) hear() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.heard = time.Now()
}

// asText returns an object as text, and omits values that differ between two runs.
func asText(object *unstructured.Unstructured) string {
	text, err := json.MarshalIndent(normal(object), "", " ")
	utilruntime.Must(err)
	return string(text)
}

// volatile contains the fields that differ between two runs of the same scenario.
var volatile = []string{"uid", "resourceVersion", "generation", "observedGeneration", "creationTimestamp", "lastTransitionTime", "time"}

// normal returns an object without volatile fields, and without the managed fields of other clients.
func normal(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetManagedFields(slices.DeleteFunc(object.GetManagedFields(),
		func(entry metav1.ManagedFieldsEntry) bool { return !objects.IsOwnEntry(entry) }))
	return strip(object.Object).(map[string]any)
}

func strip(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(name string, _ any) bool { return slices.Contains(volatile, name) })
		for name := range value {
			value[name] = strip(value[name])
			if strings.HasPrefix(name, `k:{"uid":`) { // an owner in the managed fields
				value["owner"] = value[name]
				delete(value, name)
			}
		}
	case []any:
		for i := range value {
			value[i] = strip(value[i])
		}
	}
	return value
}

// brokenPromises returns the promises that the operator broke at any time during the run.
func (o outcome) brokenPromises() []string {
	var found []string
	for _, promise := range o.broken {
		found = append(found, "broken promise: "+promise)
	}
	return found
}

// differences returns the differences between the final states of a run with faults and a run without faults.
func (o outcome) differences(reference outcome) []string {
	if diff := cmp.Diff(reference.state, o.state); diff != "" {
		return []string{"the final state differs (-without faults, +with faults):\n" + diff}
	}
	return nil
}

// writes returns the requests in a run that change objects.
func (o outcome) writes() []place {
	return slices.DeleteFunc(slices.Clone(o.order), func(at place) bool {
		verb, _, _ := strings.Cut(at.name, " ")
		return verb == "get" || verb == "list" || verb == "watch"
	})
}

// repeated returns the types and reasons of events that the operator sent more often than in a run without faults.
func (o outcome) repeated(reference outcome) []string {
	return surplus(o.reasons(), reference.reasons())
}

// lost returns the types and reasons of events that the operator sent less often than in a run without faults. If a rollout finishes before
// the operator notices it, the operator sends neither RolloutStarted nor the Ready event that would follow.
func (o outcome) lost(reference outcome) []string {
	missing := surplus(reference.reasons(), o.reasons())
	for i := slices.Index(missing, "Normal RolloutStarted"); i >= 0; i = slices.Index(missing, "Normal RolloutStarted") {
		missing = surplus(slices.Delete(missing, i, i+1), []string{"Normal Ready"})
	}
	return missing
}

// reasons returns the sorted types and reasons of the sent events. It omits notes, which depend on when the operator noticed a change.
func (o outcome) reasons() []string {
	var all []string
	for _, event := range o.events {
		reason, _, _ := strings.Cut(event, ":")
		all = append(all, reason)
	}
	return all
}

// surplus returns the elements that occur more often in the first list than in the second.
func surplus(many, few []string) []string {
	few = slices.Clone(few)
	return slices.DeleteFunc(slices.Clone(many), func(each string) bool {
		i := slices.Index(few, each)
		if i >= 0 {
			few = slices.Delete(few, i, i+1)
		}
		return i >= 0
	})
}

// restWrites returns the requests that the operator sends although there is nothing left to do. The operator may still check whether a name
// is taken and whether the cluster serves Gateway API.
func (s *simulation) restWrites(t *testing.T) []string {
	t.Helper()
	s.faults.lock.Lock()
	s.faults.tampered = nil
	s.faults.lock.Unlock()
	before := len(s.faults.order)
	s.edit(echoKey, func(echo map[string]any) {
		(&unstructured.Unstructured{Object: echo}).SetAnnotations(map[string]string{"touched": "yes"}) // this starts a reconcile
	})
	s.settle(t)
	var sent []string
	for _, at := range s.faults.order[before:] {
		asks := at.name == "list gateways" || at.name == "list httproutes"
		if !asks && !strings.HasPrefix(at.name, "get ") && !strings.HasPrefix(at.name, "watch ") { // a fault may have restarted the process
			sent = append(sent, "sent although there was nothing left to do: "+at.String())
		}
	}
	return sent
}
