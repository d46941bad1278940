package echo

import (
	"cmp"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// ensuredChild is what a reconcile saw of a child, and did to it.
type ensuredChild struct {
	child children.Child
	// before is the child as it was read, nil if there was none. absent is true if it is known that there was none.
	before client.Object
	absent bool
	// found is the child as it was read after a failure, nil if it was not.
	found client.Object
	// after is the child as it exists now: before if nothing differed, nil if it was not ensured or is deleted.
	after client.Object
	// ambiguous is the error of an apply that failed: it may have been done all the same.
	ambiguous error
	// unserved is true if the cluster no longer serves the kind.
	unserved bool
}

// ensure makes a child as it is desired.
func (c *ensuredChild) ensure(ctx context.Context, writer *controllers.ChildWriter) error {
	ensured, err := writer.Ensure(ctx, c.child, c.before)
	c.after, c.ambiguous = ensured.Object, nil
	if ensured.Applied {
		c.ambiguous = err
	}
	return err
}

// object returns the child as it was seen last, nil if it was not.
func (c ensuredChild) object() client.Object { return cmp.Or(c.after, c.found, c.before) }

func (c ensuredChild) existed() bool { return c.before != nil }

// unchanged reports whether the child existed and did not have to be changed.
func (c ensuredChild) unchanged() bool { return c.existed() && c.after == c.before }

// allUnchanged reports whether all children were found as they are desired, those that are not desired gone.
func allUnchanged(found []ensuredChild) bool {
	return !slices.ContainsFunc(found, func(c ensuredChild) bool { return !c.unchanged() && (c.existed() || c.child.Desired != nil) })
}

// objectsOf returns the children as they were read.
func objectsOf(found []ensuredChild) []client.Object {
	objects := make([]client.Object, len(found))
	for i := range found {
		objects[i] = found[i].before
	}
	return objects
}

// withChildren adds to an observation what became of the children.
func withChildren(seen status.Observation, found []ensuredChild) status.Observation {
	for i := range found {
		c := &found[i]
		seen.Record(c.object())
		seen.Unwatched = seen.Unwatched || lacksLabel(c.before) || lacksLabel(c.found)
		seen.NoDeployment = seen.NoDeployment || c.child.RunsPods && c.absent
		switch {
		case c.unchanged():
			seen.MarkUnchanged(c.child.Kind, c.after)
		case c.ambiguous != nil:
			seen.AmbiguousWrites = append(seen.AmbiguousWrites, status.Attempt{Kind: c.child.Kind, Before: c.before, Err: c.ambiguous})
		case c.after != nil:
			seen.Changes = append(seen.Changes, status.Change{Before: c.before, After: c.after})
		}
		if c.unserved {
			seen.Unserved = append(seen.Unserved, status.Unserved{Kind: c.child.Kind})
		}
	}
	return seen
}

// lacksLabel reports whether a child lost the label that watches select.
func lacksLabel(object client.Object) bool { return object != nil && !children.IsManaged(object) }
