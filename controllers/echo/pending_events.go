package echo

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/status"
)

// pendingEvents holds what happened to each Echo that no event has reported yet, because a reconcile failed. Events are for people, and no
// decision depends on them.
type pendingEvents struct {
	controllers.Memory[*unreportedNews]
}

type unreportedNews struct {
	changes []status.Change
	// generations are the generations in the last responses of the API server for the objects that the operator changed.
	generations map[types.UID]int64
	// unsure holds, by kind, the children before writes that may have been done or not.
	unsure map[string]client.Object
	// ending is set if it is not known whether the Echo was released.
	ending *ending
	// report is the last one whose status may have been written or not, nil if there is none.
	report *status.Report
}

// ending is the last transition of an Echo.
type ending struct {
	echo       *v1.Echo
	transition status.Transition
}

// news returns what is held of an Echo, which only the reconcile of that Echo reads and changes.
func (u *pendingEvents) news(echo types.NamespacedName) *unreportedNews {
	news, found := u.Get(echo)
	if !found {
		news = &unreportedNews{generations: map[types.UID]int64{}, unsure: map[string]client.Object{}}
		u.Set(echo, news)
	}
	return news
}

// add returns the changes of a reconcile after the changes that were not reported before it. A child that is unchanged after a write that
// failed was changed by that. A change that the API server has responded with before is left out: the cache did not hold it yet, so that
// the reconcile made it again.
func (u *pendingEvents) add(echo types.NamespacedName, seen status.Observation) []status.Change {
	if _, found := u.Get(echo); !found && len(seen.Changes)+len(seen.AmbiguousWrites) == 0 {
		return nil
	}
	news, made := u.news(echo), seen.Changes
	for kind, before := range news.unsure {
		if live, found := seen.Unchanged[kind]; found {
			made = append(made, status.Change{Before: before, After: live})
			delete(news.unsure, kind)
		}
	}
	for _, attempt := range seen.AmbiguousWrites {
		if !isRefusal(attempt.Err) {
			news.unsure[attempt.Kind] = attempt.Before
		}
	}
	for _, change := range made {
		uid, generation := change.After.GetUID(), change.After.GetGeneration()
		if last, seen := news.generations[uid]; seen && generation != 0 && generation == last {
			continue
		}
		news.generations[uid] = generation
		news.changes = append(news.changes, change)
	}
	return news.changes
}

// publishing records the report whose status could not be written, if it may have been written all the same.
func (u *pendingEvents) publishing(echo types.NamespacedName, report status.Report, err error) {
	if !isRefusal(err) {
		u.news(echo).report = &report
	}
}

// published returns the transitions that turn out to be due, because the status of an Echo is the status of the report that could not be
// written. Nothing is left to report then.
func (u *pendingEvents) published(echo *v1.Echo) []status.Transition {
	news, _ := u.Get(client.ObjectKeyFromObject(echo))
	if news == nil || news.report == nil || !controllers.SameStatus(&echo.Status, &news.report.Status) {
		return nil
	}
	due := news.report.Transitions
	news.changes, news.report = nil, nil
	return due
}

// done forgets what is reported now.
func (u *pendingEvents) done(echo types.NamespacedName) {
	if news, found := u.Get(echo); found {
		news.changes, news.report = nil, nil
	}
}

// releasing records the last transition of an Echo that could not be released, if it may have been released all the same.
func (u *pendingEvents) releasing(echo *v1.Echo, transition status.Transition, err error) {
	if !isRefusal(err) {
		u.news(client.ObjectKeyFromObject(echo)).ending = &ending{echo, transition}
	}
}

// gone drops what is held of an Echo that is gone, and returns its last transition if that was not reported.
func (u *pendingEvents) gone(echo types.NamespacedName) *ending {
	news, found := u.Get(echo)
	if !found {
		return nil
	}
	u.Forget(echo)
	return news.ending
}

// isRefusal reports whether an error says that nothing was done.
func isRefusal(err error) bool {
	var response apierrors.APIStatus
	if !errors.As(err, &response) {
		return false
	}
	code := response.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}
