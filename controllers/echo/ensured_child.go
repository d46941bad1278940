package echo

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// ensuredChild holds the state of a child before and after a reconcile.
type ensuredChild struct {
	child children.Child
	// before is the child as it was read, or nil if there was none. absent is true if the child is known not to exist.
	before client.Object
	absent bool
	// found is the child as it was read after a failure, or nil if it was not read.
	found client.Object
	// after is the child as it now exists. It is the object in the before field if nothing differed, and nil if the child was deleted or not
	// ensured.
	after client.Object
	// unserved is true if the cluster no longer serves the child's kind.
	unserved bool
}

// ensure brings a child to its desired state.
func (c *ensuredChild) ensure(ctx context.Context, writer *controllers.ChildWriter) error {
	var err error
	c.after, err = writer.Ensure(ctx, c.child, c.before)
	return err
}

// object returns the child as it was last seen, or nil if it was never seen.
func (c ensuredChild) object() client.Object { return cmp.Or(c.after, c.found, c.before) }

func (c ensuredChild) existed() bool { return c.before != nil }

// withChildren adds the outcome for each child to an observation, and returns the result.
func withChildren(seen status.Observation, found []ensuredChild) status.Observation {
	for i := range found {
		c := &found[i]
		seen.Record(c.object())
		seen.Unwatched = seen.Unwatched || lacksLabel(c.before) || lacksLabel(c.found)
		seen.NoDeployment = seen.NoDeployment || c.child.RunsPods && c.absent
		if c.unserved {
			seen.Unserved = append(seen.Unserved, status.Unserved{Kind: c.child.Kind})
		}
	}
	return seen
}

// lacksLabel reports whether an object exists but lacks the label that the watches use to select children.
func lacksLabel(object client.Object) bool { return object != nil && !children.IsManaged(object) }
