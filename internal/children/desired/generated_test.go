package desired

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/apply"
)

// generatedEchoes is the number of Echoes that each test generates. The seed is fixed, so that failures are reproducible.
const generatedEchoes = 100

func TestOf_isDeterministic(t *testing.T) {
	g := newGenerator()
	for range generatedEchoes {
		echo := g.echo()
		before := echo.DeepCopy()
		all := g.children(t, echo)
		for i, again := range g.children(t, echo.DeepCopy()) {
			NewWithT(t).Expect(again.Desired).To(BeComparableTo(all[i].Desired), "a %s differs from the one before", again.Kind)
		}
		NewWithT(t).Expect(echo).To(BeComparableTo(before), "the Echo itself, which belongs to the cache, was changed")
	}
}

// TestCompare_matchesAppliedChild checks that an applied child, as read from the cache, matches its desired state. Otherwise, every
// reconcile would apply the child again.
func TestCompare_matchesAppliedChild(t *testing.T) {
	g := newGenerator()
	for range generatedEchoes / 4 {
		for _, c := range compared(g.children(t, g.echo())) {
			if got, err := apply.Compare(c, store(t, c).live(t)); err != nil || !got.None {
				t.Fatalf("a %s does not match the applied object: %v\n%v", c.Kind, err, c.Desired.Object)
			}
		}
	}
}

// compared returns the children except the companion. The operator does not compare the fields of a companion, but replaces the companion
// if its digest differs.
func compared(all []children.Child) []children.Child {
	return slices.DeleteFunc(all, func(c children.Child) bool { return c.Kind == "Pod" })
}

// TestCompare_detectsEveryChange changes or removes one value at a time in each child.
func TestCompare_detectsEveryChange(t *testing.T) {
	g := newGenerator()
	for range generatedEchoes / 100 {
		for _, c := range compared(g.children(t, g.echo())) {
			live := store(t, c).live(t)
			for i := range leaves(c.Desired.Object, nil) {
				for name, spoil := range map[string]func(leaf){"changed": leaf.change, "removed": leaf.remove} {
					spoiled := c
					spoiled.Desired = c.Desired.DeepCopy()
					at := leaves(spoiled.Desired.Object, nil)[i]
					if isIdentity(at) {
						continue
					}
					spoil(at)
					if got, err := apply.Compare(spoiled, live); err == nil && got.None {
						t.Fatalf("a %s still matches although %v is %s", c.Kind, at.key, name)
					}
				}
			}
		}
	}
}

// isIdentity reports whether a leaf is part of the object's identity: its version, kind, namespace, or name.
func isIdentity(l leaf) bool {
	parent, _ := l.parent.(map[string]any)
	return parent["apiVersion"] != nil && parent["metadata"] != nil || parent["ownerReferences"] != nil && (l.key == "name" ||
		l.key == "namespace")
}

// leaf is a value, other than a map or a list, in a tree.
type leaf struct {
	parent any // the map or list that contains the leaf
	key    any
}

// leaves returns the leaves of a tree in a fixed order.
func leaves(tree any, all []leaf) []leaf {
	add := func(key, value any) {
		switch value.(type) {
		case map[string]any, []any:
			all = leaves(value, all)
		default:
			all = append(all, leaf{tree, key})
		}
	}
	switch tree := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			add(key, tree[key])
		}
	case []any:
		for i := range tree {
			add(i, tree[i])
		}
	}
	return all
}

func (l leaf) change() { l.set("changed") }

func (l leaf) set(value any) {
	switch parent := l.parent.(type) {
	case map[string]any:
		parent[l.key.(string)] = value
	case []any:
		parent[l.key.(int)] = value
	}
}

// remove removes a leaf that is in a map, or empties a leaf that is in a list.
func (l leaf) remove() {
	if parent, ok := l.parent.(map[string]any); ok {
		delete(parent, l.key.(string))
		return
	}
	l.set(nil)
}
