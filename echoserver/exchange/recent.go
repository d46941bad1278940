package exchange

import "container/list"

// Recent maps keys to values. If there are too many keys, it forgets the least recently used one.
type Recent[V any] struct {
	most     int
	elements map[uint64]*list.Element // of order
	order    *list.List               // contains *entry[V], the most recently used first
}

type entry[V any] struct {
	key   uint64
	value V
}

// NewRecent returns an empty map that remembers at most the given number of keys.
func NewRecent[V any](most int) *Recent[V] {
	return &Recent[V]{most: most, elements: map[uint64]*list.Element{}, order: list.New()}
}

// Get returns the value of a key, or nil if the key is not known.
func (r *Recent[V]) Get(key uint64) *V {
	element, found := r.elements[key]
	if !found {
		return nil
	}
	r.order.MoveToFront(element)
	return &element.Value.(*entry[V]).value // the list holds no other type
}

// At returns the value of a key. The value of a new key is zero.
func (r *Recent[V]) At(key uint64) *V {
	if value := r.Get(key); value != nil {
		return value
	}
	if len(r.elements) == r.most {
		oldest := r.order.Back()
		delete(r.elements, oldest.Value.(*entry[V]).key) // the list holds no other type
		r.order.Remove(oldest)
	}
	added := &entry[V]{key: key}
	r.elements[key] = r.order.PushFront(added)
	return &added.value
}
