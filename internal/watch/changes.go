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

// change is a field that differs between two states of an object. An absent field is nil.
type change struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// changes returns the fields that differ, in a fixed order, without those that change with every write.
func changes(before, after map[string]any) []change {
	c := &comparison{}
	c.compare(place{}, before, after)
	return c.changes
}

type comparison struct{ changes []change }

// place is the position of a value in an object.
type place struct {
	path  string
	name  string // of the field, empty for an element of a list
	inEnv bool   // the value is a variable of an environment
	// secret is true if the value must not be shown.
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

// bookkeeping reports whether a field changes with every write, whatever was written.
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

// compareElements compares elements with the same key, so that an element that is inserted in front does not change all others.
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

// naturalKey returns the field that identifies the elements of lists, empty if there is none.
func naturalKey(lists ...[]any) string {
	for _, key := range []string{"name", "type", "mountPath", "containerPort", "port", "key", "topologyKey", "ip", "conditionType", "resourceName"} {
		if !slices.ContainsFunc(lists, func(list []any) bool { return !identifies(key, list) }) {
			return key
		}
	}
	return ""
}

// identifies reports whether a field has a different value in each element of a list.
func identifies(key string, list []any) bool {
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

// keyed returns the elements of a list by their key, or without a key by their index, and the order of the keys.
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

// both returns two values as a type. An absent value counts as an empty one.
func both[T any](before, after any) (b, a T, ok bool) {
	b, isB := before.(T)
	a, isA := after.(T)
	return b, a, (isB || before == nil) && (isA || after == nil)
}

// objects reports whether all elements of a list are objects.
func objects(list []any) bool {
	return !slices.ContainsFunc(list, func(element any) bool {
		_, ok := element.(map[string]any)
		return !ok
	})
}

// plain reports whether the name of a field can follow a dot.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	})
}

// printable returns a name without control characters of a terminal.
func printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
