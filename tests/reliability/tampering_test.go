package reliability

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// tampering is a change to an event between the API server and the operator. Delays are in hold.
type tampering struct {
	name string
	// apply sends the event, a replacement, or nothing, and may end the stream.
	apply func(s *stream, line []byte)
	// expires is true if the watch that continues the stream gets a 410 response.
	expires bool
	// back is how many changes the list after that lags behind, as if it came from an API server with an outdated cache.
	back int
	// late is true if the operator might not notice the change until it lists the objects again. The simulation makes it do so when nothing
	// else is left to do.
	late bool
}

func tamperings() []tampering {
	expired := &unstructured.Unstructured{Object: map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
		"reason": "Expired", "code": 410, "message": "too old resource version"}}
	lose := func(s *stream, _ []byte) { s.end() }
	return []tampering{
		{name: "dropped", late: true, apply: func(*stream, []byte) {}},
		{name: "sent twice", apply: func(s *stream, line []byte) { s.lines <- line; s.lines <- line }},
		{name: "sent after the next one", late: true, apply: func(s *stream, line []byte) { s.kept = line }},
		{name: "cut off in the middle", apply: func(s *stream, line []byte) { s.lines <- line[:len(line)/2]; s.end() }},
		{name: "replaced by a 410 error", apply: func(s *stream, _ []byte) { s.lines <- event(watch.Error, expired); s.end() }},
		{name: "lost, and the next watch is rejected with 410", expires: true, apply: lose},
		{name: "lost, and an old list follows", expires: true, back: 2, apply: lose},
		{name: "lost, and an empty list follows", expires: true, back: math.MaxInt, apply: lose},
	}
}

// tampered is the change that a plan tampers with in all watches of its resource. at is the number of the change, counted from 1.
type tampered struct {
	tampering
	resource string
	at       int
}

func (t tampered) String() string {
	return fmt.Sprintf("change %d of %s is %s", t.at, t.resource, t.name)
}

// strike returns how to tamper with the last change in a log, or nil. Only streams that are open when the first of them is struck are
// tampered with, because later streams may repeat the change.
func (i *injector) strike(s *stream, log []change) *tampering {
	i.lock.Lock()
	defer i.lock.Unlock()
	t := i.tampered
	if t == nil || s.resource != t.resource || len(changesOf(t.resource, log)) != t.at {
		return nil
	}
	if i.targets == nil {
		i.targets, i.hits = i.in.process.streams(), i.hits+1
	}
	if !slices.Contains(i.targets, s) {
		return nil
	}
	if t.expires {
		i.expired++
	}
	return &t.tampering
}

// changesOf returns the positions in a log of the changes to a resource.
func changesOf(resource string, log []change) []int {
	var places []int
	for place, change := range log {
		if change.resource == resource {
			places = append(places, place)
		}
	}
	return places
}

// expire reports whether to reject a watch with a 410 response. A list follows, which may be outdated.
func (i *injector) expire(resource string) bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.expired == 0 || i.tampered.resource != resource {
		return false
	}
	i.expired--
	if i.tampered.back > 0 {
		i.outdated++
	}
	return true
}

// listed returns how many changes in a log a new list includes.
func (i *injector) listed(resource string, log []change) int {
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.outdated == 0 || i.tampered.resource != resource {
		return len(log)
	}
	i.outdated--
	places := changesOf(resource, log)
	return places[max(0, len(places)-i.tampered.back)]
}

// heal makes the operator list the objects again if it may have missed a change. It reports whether it did.
func (i *injector) heal(open []*stream) bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.tampered == nil || !i.tampered.late || i.healed || i.targets == nil {
		return false
	}
	i.healed = true
	for _, s := range open {
		if s.resource == i.tampered.resource {
			i.expired++
			s.end()
		}
	}
	return true
}

// TestTampering runs scenarios in each of which one event in the operator's watches is tampered with: the first or one of the last three
// events of a resource. It leaves out companions, because an operator that does not learn that a pod is gone creates the pod's companion
// whenever the garbage collector deletes it, so that nothing comes to rest.
func TestTampering(t *testing.T) {
	tried := basics()
	if everything() {
		tried = slices.DeleteFunc(slices.Concat(tried, others()), func(c scenario) bool { return strings.Contains(c.name, "companion") })
	}
	w := &sweep{}
	t.Run("plans", func(t *testing.T) {
		for _, c := range tried {
			reference := referenceOf(t, c)
			for _, resource := range slices.Sorted(maps.Keys(kinds)) {
				last := len(changesOf(resource, reference.log))
				for at := 1; at <= last; at++ {
					for _, how := range tamperings() {
						if at == 1 || at > last-3 {
							w.run(t, c, plan{tampered: &tampered{how, resource, at}}, reference)
						}
					}
				}
			}
		}
	})
	w.report(t, len(tamperings()), len(tried))
}
