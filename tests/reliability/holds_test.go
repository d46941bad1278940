package reliability

import "fmt"

// hold delays a resource's watch, so that the operator's cache is outdated.
type hold struct {
	resource string
	// from is the number of the first change that is late, counted from 1.
	from int
	// lag is how many changes the watch lags behind. If lag is 0, the watch reports no further changes. The watch catches up when nothing else
	// is left to do.
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

// release lets all watches catch up. It reports whether any watch was held back.
func (i *injector) release() bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	held := len(i.holds) > 0 && !i.released
	i.released = i.released || held
	return held
}
