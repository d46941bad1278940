package watch

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// change is a field that differs between two states of an object. A field that is not there is nil.
type change struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// changes are the fields that differ, in a fixed order, without those that only keep the books.
func changes(before, after map[string]any) []change {
	c := &comparison{}
	c.compare(place{}, before, after)
	return c.changes
}

type comparison struct{ changes []change }

// place is where in an object a value stands.
type place struct {
	path  string
	name  string // of the field, empty for an element of a list
	inEnv bool   // it is a variable of an environment
	// secret says that the value must not be shown.
	secret bool
}

func (p place) field(name string) place {
	path := strings.TrimPrefix(p.path+"."+name, ".")
	if !plain(name) {
		path = p.path + "[" + printable(name) + "]"
	}
	return place{path: path, name: name, secret: secret(p.inEnv, name)}
}

func (p place) element(key string) place {
	return place{path: p.path + "[" + printable(key) + "]", inEnv: p.name == env}
}

// bookkeeping are fields of which each write changes some, whatever was written.
func (p place) bookkeeping() bool {
	switch p.path {
	case "metadata.managedFields", "metadata.resourceVersion", "metadata.annotations[" + lastApplied + "]":
		return true
	}
	return false
}

func (c *comparison) compare(at place, before, after any) {
	if at.bookkeeping() || reflect.DeepEqual(before, after) {
		return
	}
	if b, a, ok := both[map[string]any](before, after); ok && len(b)+len(a) > 0 {
		c.compareFields(at, b, a)
		return
	}
	if b, a, ok := both[[]any](before, after); ok && len(b)+len(a) > 0 && objects(b) && objects(a) {
		c.compareElements(at, b, a)
		return
	}
	c.changes = append(c.changes, change{at.path, shown(at, before), shown(at, after)})
}

func (c *comparison) compareFields(at place, before, after map[string]any) {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.compare(at.field(name), before[name], after[name])
	}
}

// compareElements compares what is called the same in both lists, so that one element that is put in front does not change all.
func (c *comparison) compareElements(at place, before, after []any) {
	key := naturalKey(before, after)
	b, order := keyed(before, key)
	a, orderAfter := keyed(after, key)
	for _, name := range orderAfter {
		if _, known := b[name]; !known {
			order = append(order, name)
		}
	}
	for _, name := range order {
		c.compare(at.element(name), b[name], a[name])
	}
}

// naturalKey is the field by which the elements of two lists can be told apart, or empty if there is none.
func naturalKey(lists ...[]any) string {
	for _, key := range []string{"name", "type", "mountPath", "containerPort", "port", "key", "topologyKey", "ip", "conditionType", "resourceName"} {
		if !slices.ContainsFunc(lists, func(list []any) bool { return !tells(key, list) }) {
			return key
		}
	}
	return ""
}

// tells says whether a field has another value in each element of a list.
func tells(key string, list []any) bool {
	seen := map[any]bool{}
	for _, element := range list {
		value := element.(map[string]any)[key]
		switch value.(type) {
		case string, int64:
		default:
			return false
		}
		if seen[value] {
			return false
		}
		seen[value] = true
	}
	return true
}

// keyed are the elements of a list by their key, or without one by their place, and the order of the keys.
func keyed(list []any, key string) (elements map[string]any, order []string) {
	elements = make(map[string]any, len(list))
	for i, element := range list {
		name := strconv.Itoa(i)
		if key != "" {
			name = fmt.Sprint(element.(map[string]any)[key])
		}
		elements[name] = element
		order = append(order, name)
	}
	return elements, order
}

// both are two values of a type; one that is not there counts as an empty one.
func both[T any](before, after any) (b, a T, ok bool) {
	b, isB := before.(T)
	a, isA := after.(T)
	return b, a, (isB || before == nil) && (isA || after == nil)
}

// objects says whether all elements of a list have fields.
func objects(list []any) bool {
	return !slices.ContainsFunc(list, func(element any) bool {
		_, ok := element.(map[string]any)
		return !ok
	})
}

// plain says whether a field's name can stand after a dot.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	})
}

// printable is a name without characters that would do something to a terminal.
func printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
