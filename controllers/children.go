package controllers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// ensuredChild holds the state of a child before and after a reconcile.
type ensuredChild struct {
	child objects.Child
	// before is the child as it was read, or nil if there was none. absent is true if the child is known not to exist.
	before client.Object
	absent bool
	// after is the child as it now exists. It is the object in before if nothing differed, and nil if the child was deleted or not ensured.
	after client.Object
	// unserved is true if the cluster no longer serves the child's kind.
	unserved bool
}

// object returns the child as it was last seen, or nil if it was never seen.
func (c ensuredChild) object() client.Object { return cmp.Or(c.after, c.before) }

func (c ensuredChild) existed() bool { return c.before != nil }

// ensureChildren brings the children to their desired state, and returns the outcome for each child that it processed. It reads all
// children before it writes anything, and before it reports that the Echo is not allowed. If the Echo is not allowed, or the name of a
// child is known to be taken, ensureChildren writes no child.
func (r *EchoReconciler) ensureChildren(ctx context.Context, echo *v1.Echo) ([]ensuredChild, error) {
	desired, err := objects.Desired(echo, r.childConfig())
	if err != nil {
		return nil, err
	}
	refused := r.Policy.Check(echo, desired...)
	read := readControlled // the writes reveal the children that the cache does not hold
	if refused != nil || echo.Spec.Paused || status.NameWasTaken(echo) {
		read = r.readOwned // nothing will be written that would reveal them
	}
	found, err := readAll(ctx, r.Client, echo, desired, read)
	err = cmp.Or(err, refused)
	if err != nil && !echo.Spec.Paused && (status.NameWasTaken(echo) || slices.ContainsFunc(found, ensuredChild.existed)) {
		err = cmp.Or(r.addFinalizer(ctx, echo), err) // another client may have removed the finalizer
	}
	if err != nil || echo.Spec.Paused {
		return found, err
	}
	if err := r.ensureAll(ctx, echo, found); err != nil {
		return found, status.RetriedFirst([]error{err, r.findDeployment(ctx, echo, found)})
	}
	return found, nil
}

// readAll returns the current state of the children. It reads all children before it reports that a name is taken.
func readAll(ctx context.Context, cached client.Reader, echo *v1.Echo, desired []objects.Child, read childReader) ([]ensuredChild, error) {
	var found []ensuredChild
	var taken error
	for _, c := range desired {
		live, err := read(ctx, cached, echo, c)
		switch {
		case errors.As(err, new(*objects.NameConflictError)):
			taken = cmp.Or(taken, err)
		case err != nil:
			return found, err
		}
		found = append(found, ensuredChild{child: c, before: live, absent: live == nil})
	}
	return found, taken
}

// ensureAll adds the finalizer and brings the children to their desired state.
func (r *EchoReconciler) ensureAll(ctx context.Context, echo *v1.Echo, found []ensuredChild) error {
	if err := r.addFinalizer(ctx, echo); err != nil {
		return err
	}
	for i := range found {
		c := &found[i]
		err := r.ensureChild(ctx, echo, c)
		since := r.failures.get(client.ObjectKeyFromObject(echo))
		c.unserved = isGatewayKindGone(c.child, err) && !since.IsZero() && r.Now().Sub(since) >= Tolerance
		if err != nil && !c.unserved {
			return err
		}
		r.SendEvents(ctx, echo, status.Written(c.before, c.after)...)
	}
	return nil
}

// ensureChild brings a child to its desired state. It creates a child that the cache does not hold. If the API server responds with a
// conflict, ensureChild reads the existing object.
func (r *EchoReconciler) ensureChild(ctx context.Context, echo *v1.Echo, c *ensuredChild) error {
	writer, corrected := childWriter{client: r.Client, live: r.Live, compare: apply.Compare, wrote: r.wrote(echo)}, ""
	writer.allows = func(field string) bool {
		corrected = field + " of the " + c.child.Kind
		return r.corrections.get(client.ObjectKeyFromObject(echo))[corrected].wait(echo, r.Now()) == 0
	}
	var err error
	c.after, err = writer.ensure(ctx, c.child, c.before)
	if corrected != "" && err == nil && c.after != c.before && c.before.GetDeletionTimestamp().IsZero() {
		r.corrections.corrected(echo, corrected, r.Now())
	}
	if c.existed() || !apierrors.IsConflict(err) {
		return err
	}
	live, taken := readLive(ctx, r.Live, echo, c.child)
	if taken != nil || live == nil {
		return cmp.Or(taken, err)
	}
	c.before, c.absent = live, false
	return r.ensureChild(ctx, echo, c)
}

// findDeployment asks the API server for a Deployment that the cache does not hold, so that a failed reconcile does not report an existing
// Deployment as missing. If this request also fails, findDeployment returns the error.
func (r *EchoReconciler) findDeployment(ctx context.Context, echo *v1.Echo, found []ensuredChild) error {
	i := slices.IndexFunc(found, func(c ensuredChild) bool { return c.child.Kind == "Deployment" })
	if i < 0 || found[i].object() != nil {
		return nil
	}
	live, err := readLive(ctx, r.Live, echo, found[i].child)
	taken := errors.As(err, new(*objects.NameConflictError))
	found[i].before, found[i].absent = live, live == nil && (err == nil || taken)
	if taken {
		return nil
	}
	return err
}

// addFinalizer adds the finalizer to an Echo unless the Echo already has it. The finalizer keeps the Echo until its objects are gone.
func (r *EchoReconciler) addFinalizer(ctx context.Context, echo *v1.Echo) error {
	if controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return nil
	}
	return r.echoWriter(echo).setFinalizers(ctx, echo, append(slices.Clone(echo.Finalizers), v1.Finalizer))
}

// withChildren adds the outcome for each child to an observation, and returns the result.
func withChildren(seen status.Observation, found []ensuredChild) status.Observation {
	for i := range found {
		c := &found[i]
		object := c.object()
		seen.Record(object)
		seen.Held = cmp.Or(seen.Held, status.HeldBy(c.child.Kind, object))
		// A webhook may remove the label from each write.
		seen.Unwatched = seen.Unwatched || object != nil && object.GetLabels()[objects.LabelManagedBy] != objects.FieldOwner
		seen.NoDeployment = seen.NoDeployment || c.child.Kind == "Deployment" && c.absent
		if c.unserved {
			seen.Unserved = append(seen.Unserved, status.Unserved{Kind: c.child.Kind})
		}
	}
	return seen
}

const (
	// forgottenAfter is how long the operator remembers a correction.
	forgottenAfter = 10 * time.Minute
	// contestedBy is the number of corrections after which the status names a field.
	contestedBy = 4
	// longestCorrectionWait is the longest wait before a field is corrected again.
	longestCorrectionWait = 2 * time.Minute
)

// corrections holds, for each Echo, the fields that the operator corrected because another client had changed them. If a client keeps
// changing a field, the operator corrects it less and less often. Otherwise, two controllers that disagree would write without a pause.
type corrections struct {
	memory[map[string]correction]
}

type correction struct {
	echo       types.UID
	generation int64 // of the Echo
	count      int
	last       time.Time
}

// isOf reports whether a correction follows from an Echo's current spec.
func (c correction) isOf(echo *v1.Echo) bool {
	return c.echo == echo.UID && c.generation == echo.Generation
}

// wait returns the time until the next correction of a field. The first two corrections are immediate. Each wait is four times the last.
func (c correction) wait(echo *v1.Echo, now time.Time) time.Duration {
	if !c.isOf(echo) || c.count < 2 {
		return 0
	}
	return max(0, min(time.Second<<(2*min(c.count-2, 4)), longestCorrectionWait)-now.Sub(c.last))
}

// contested returns a field that another client keeps changing, or "", and the time until the next field is corrected again.
func (c *corrections) contested(echo *v1.Echo, now time.Time) (contested string, next time.Duration) {
	fields := c.get(client.ObjectKeyFromObject(echo))
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		wait := fields[field].wait(echo, now)
		if wait > 0 && fields[field].count >= contestedBy {
			contested = cmp.Or(contested, field)
		}
		next = status.Earliest(next, wait)
	}
	return contested, next
}

func (c *corrections) corrected(echo *v1.Echo, field string, now time.Time) {
	fields := map[string]correction{}
	maps.Copy(fields, c.get(client.ObjectKeyFromObject(echo)))
	maps.DeleteFunc(fields, func(_ string, each correction) bool {
		return !each.isOf(echo) || now.Sub(each.last) > forgottenAfter
	})
	fields[field] = correction{echo.UID, echo.Generation, fields[field].count + 1, now}
	c.set(client.ObjectKeyFromObject(echo), fields)
}
