package echo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/controllers/gatewayapi"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// converge makes the children of an Echo as wanted. What the cache holds is read before anything is written, so that an Echo that is not
// allowed, or whose name is known to be taken, changes nothing.
func (r *Reconciler) converge(ctx context.Context, echo *v1.Echo) (status.Observation, error) {
	seen := status.Observation{}
	if err := errors.Join(r.observe(ctx, echo, &seen), r.Gateways.Observe(ctx, r.Client, echo, &seen)); err != nil {
		return seen, err
	}
	config := r.config()
	if same, err := r.asCompared(ctx, echo, config, &seen); err != nil || same {
		return seen, err
	}
	wanted, err := children.Of(echo, config)
	if err != nil {
		return seen, err
	}
	live, err := r.readBefore(ctx, echo, wanted, &seen)
	if err != nil || echo.Spec.Paused {
		return seen, err
	}
	if err := r.ensureAll(ctx, echo, wanted, live, &seen); err != nil {
		r.findDeployment(ctx, echo, wanted, &seen)
		return seen, err
	}
	if asWanted(wanted, live, &seen) {
		r.compared.Record(echo, config, live)
	}
	return seen, nil
}

// readBefore returns the children before anything is written, nil for those that do not exist. Only if nothing will be written, the API
// server is asked for those that the cache does not hold: it answers each write. The error of an Echo that is not allowed comes after all
// children were read.
func (r *Reconciler) readBefore(
	ctx context.Context, echo *v1.Echo, wanted []children.Child, seen *status.Observation,
) ([]client.Object, error) {
	refused := r.Policy.Check(echo, wanted...)
	read := r.readCached
	if refused != nil || echo.Spec.Paused || status.NameWasTaken(echo) {
		read = r.read
	}
	live, err := r.readAll(ctx, echo, wanted, read, seen)
	err = cmp.Or(err, refused)
	if err != nil && !echo.Spec.Paused && (status.NameWasTaken(echo) || slices.ContainsFunc(live, exists)) {
		err = cmp.Or(r.addFinalizer(ctx, echo), err) // somebody may have removed it
	}
	return live, err
}

func exists(object client.Object) bool { return object != nil }

// ensureAll adds the finalizer and makes the children as wanted. live are those that exist.
func (r *Reconciler) ensureAll(
	ctx context.Context, echo *v1.Echo, wanted []children.Child, live []client.Object, seen *status.Observation,
) error {
	if err := r.addFinalizer(ctx, echo); err != nil {
		return err
	}
	for i, c := range wanted {
		err := r.ensure(ctx, echo, c, live[i], seen)
		if gatewayapi.IsGone(c, err) && r.failures.Last(client.ObjectKeyFromObject(echo), r.Now()) {
			seen.Unserved = append(seen.Unserved, status.Unserved{Kind: c.Kind})
		} else if err != nil {
			return err
		}
	}
	return nil
}

// ensure makes a child as wanted. live is what the cache holds. What it does not hold is created, which the API server refuses as a conflict
// if there is an object of that name: only then it is asked what there is.
func (r *Reconciler) ensure(ctx context.Context, echo *v1.Echo, c children.Child, live client.Object, seen *status.Observation) error {
	err := r.ensureLive(ctx, c, live, seen)
	if live != nil || !apierrors.IsConflict(err) {
		return err
	}
	live, taken := r.read(ctx, echo, c)
	if taken != nil || live == nil {
		return cmp.Or(taken, err)
	}
	seen.See(live)
	seen.Unwatched = seen.Unwatched || !children.IsManaged(live)
	return r.ensureLive(ctx, c, live, seen)
}

// findDeployment asks the API server for a Deployment that the cache does not hold, before the status of a pass that failed says that there
// is none. If that fails, too, it is not known.
func (r *Reconciler) findDeployment(ctx context.Context, echo *v1.Echo, wanted []children.Child, seen *status.Observation) {
	if seen.Deployment != nil {
		return
	}
	seen.NoDeployment = false
	runsNoPods := func(c children.Child) bool { return !c.RunsPods }
	_, _ = r.readAll(ctx, echo, slices.DeleteFunc(wanted, runsNoPods), r.read, seen) // the pass has failed for another reason
}

// ensureLive applies a child that is not as wanted, and deletes one that is no longer wanted.
func (r *Reconciler) ensureLive(ctx context.Context, c children.Child, live client.Object, seen *status.Observation) error {
	if c.Want == nil {
		return r.prune(ctx, live)
	}
	if live != nil {
		c = c.Given(live)
		difference, err := r.Schema.Compare(c, live)
		switch {
		case err != nil:
			return err
		case difference.None:
			seen.Keep(c.Kind, live)
			return nil
		case difference.Replace:
			return r.replace(ctx, c, live)
		}
		if err := r.reclaim(ctx, c, difference.Renamed); err != nil {
			return err
		}
	}
	after, err := controllers.Apply(ctx, r.Client, c, live)
	if err != nil {
		seen.Unsure = append(seen.Unsure, status.Attempt{Kind: c.Kind, Before: live, Err: err})
		return err
	}
	r.own.Wrote(c.Key, live, after, r.Now())
	seen.See(after)
	seen.Changes = append(seen.Changes, status.Change{Before: live, After: after})
	return nil
}

// reclaim makes the list items of a child whose key somebody edited the operator's, so that they are replaced and not added to. The
// cache does not hold what others own.
func (r *Reconciler) reclaim(ctx context.Context, c children.Child, renamed *fieldpath.Set) error {
	if renamed.Empty() {
		return nil
	}
	current := c.Blank()
	if err := r.Live.Get(ctx, c.Key, current); err != nil {
		return fmt.Errorf("reading %s %s: %w", c.Kind, c.Key, err)
	}
	before := current.DeepCopyObject().(client.Object)
	if err := children.GiveToOperator(current, renamed, c.Want.GetAPIVersion()); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, current, patch, client.FieldOwner(children.FieldOwner)); err != nil {
		return fmt.Errorf("taking over fields of %s %s: %w", c.Kind, c.Key, err)
	}
	r.own.Wrote(c.Key, before, current, r.Now())
	return nil
}

// replace deletes a child that has to be created anew, unless the API server would refuse the new one. It is created when an event
// reports that the old one is gone.
func (r *Reconciler) replace(ctx context.Context, c children.Child, live client.Object) error {
	if trial := c.Trial(); trial != nil && live.GetDeletionTimestamp().IsZero() {
		err := r.Client.Create(ctx, trial, client.DryRunAll, client.FieldOwner(children.FieldOwner))
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) && !status.IsQuotaExceeded(err) { // the old one counts in the quota
			return fmt.Errorf("replacing %s %s: %w", c.Kind, c.Key, err)
		}
	}
	return r.prune(ctx, live)
}

// prune deletes a child that exists and is no longer wanted. Nothing depends on a child that can be unwanted.
func (r *Reconciler) prune(ctx context.Context, live client.Object) error {
	if live == nil {
		return nil
	}
	return controllers.DeleteChild(ctx, r.Client, live, metav1.DeletePropagationBackground)
}

// addFinalizer makes sure that an Echo cannot vanish before what is created for it. It does nothing if the finalizer is there.
func (r *Reconciler) addFinalizer(ctx context.Context, echo *v1.Echo) error {
	if controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return nil
	}
	return r.patchFinalizers(ctx, echo, append(slices.Clone(echo.Finalizers), v1.Finalizer))
}
