package apply

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"

	"github.com/echo-operator/echo-operator/tests/support"
)

// generatedEchoes is the number of Echoes that each test generates. The seed is fixed, so that failures are reproducible.
const generatedEchoes = 100

// childrenOf returns all objects that an Echo requires, including a companion.
func childrenOf(t *testing.T, echo *v1.Echo) []objects.Child {
	t.Helper()
	config := objects.Config{Images: objects.Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}, Served: objects.Served{}}
	for kind := range objects.OptionalKinds() {
		config.Served[kind] = true
	}
	all, err := objects.Desired(echo, config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	companion, err := objects.Companion(support.PodWithCompanionLabel(), echo, config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(append(all, companion), func(c objects.Child) bool { return c.Desired == nil })
}

// TestCompare_matchesAppliedChild checks that an applied child, as read from the cache, matches its desired state. Otherwise, every
// reconcile would apply the child again.
func TestCompare_matchesAppliedChild(t *testing.T) {
	g := support.NewGenerator()
	for range generatedEchoes / 4 {
		for _, c := range compared(childrenOf(t, g.Echo())) {
			if got, err := Compare(c, store(t, c).live(t)); err != nil || !got.None {
				t.Fatalf("a %s does not match the applied object: %v\n%v", c.Kind, err, c.Desired.Object)
			}
		}
	}
}

// compared returns the children except the companion. The operator does not compare the fields of a companion, but replaces the companion
// if its digest differs.
func compared(all []objects.Child) []objects.Child {
	return slices.DeleteFunc(all, func(c objects.Child) bool { return c.Kind == "Pod" })
}

// TestCompare_detectsEveryChange changes or removes one value at a time in each child.
func TestCompare_detectsEveryChange(t *testing.T) {
	g := support.NewGenerator()
	for range generatedEchoes / 100 {
		for _, c := range compared(childrenOf(t, g.Echo())) {
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
					if got, err := Compare(spoiled, live); err == nil && got.None {
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
