package reliability

import "fmt"

// hold holds back the watch of a resource: the cache of the operator is late.
type hold struct {
	resource string
	// from is the first change of the resource that comes late, from 1.
	from int
	// lag is how many changes late the watch is, until nothing is left to do without them. 0 stands for all.
	lag int
}

func (h hold) String() string {
	if h.lag == 0 {
		return fmt.Sprintf("%s held back from change %d", h.resource, h.from)
	}
	return fmt.Sprintf("%s %d changes late from change %d", h.resource, h.lag, h.from)
}

// known returns how many changes of a log the watch of a resource may tell of.
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

// known returns how many changes of a log come before the first that is held back.
func (h hold) known(log []change) int {
	var places []int
	for place, change := range log {
		if change.resource == h.resource {
			places = append(places, place)
		}
	}
	first := h.from - 1
	if h.lag > 0 {
		first = max(first, len(places)-h.lag)
	}
	if first >= len(places) {
		return len(log)
	}
	return places[first]
}

// release lets all watches go on. It reports whether one was held back.
func (i *injector) release() bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	held := len(i.holds) > 0 && !i.released
	i.released = i.released || held
	return held
}
