package echo

import (
	"errors"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/status"
)

// pendingEvents holds, for each Echo, the changes that no event has reported yet because a reconcile failed. Events are for people, and no
// decision depends on them.
type pendingEvents struct {
	controllers.Memory[*unreportedNews]
}

type unreportedNews struct {
	changes []status.Change
	// versions holds, by type, the object that the operator last changed, as reported in the API server's last response.
	versions map[reflect.Type]objectVersion
	// unsure holds, by kind, the children as they were before failed writes that may have taken effect.
	unsure map[string]client.Object
	// report is the last report, if its status write failed but may have taken effect.
	report *status.Report
}

// objectVersion identifies the spec of an object at one time.
type objectVersion struct {
	uid        types.UID
	generation int64
}

// news returns an Echo's unreported changes. Only that Echo's reconcile may use them.
func (u *pendingEvents) news(echo types.NamespacedName) *unreportedNews {
	news, found := u.Get(echo)
	if !found {
		news = &unreportedNews{versions: map[reflect.Type]objectVersion{}, unsure: map[string]client.Object{}}
		u.Set(echo, news)
	}
	return news
}

// add returns the unreported earlier changes, followed by the changes that this reconcile made. If a child matches its desired state after
// a failed write, the write took effect. add omits a change that the reconcile repeated because the cache did not hold the first write yet.
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
		kind, version := reflect.TypeOf(change.After), objectVersion{change.After.GetUID(), change.After.GetGeneration()}
		if version.generation != 0 && news.versions[kind] == version {
			continue
		}
		news.versions[kind] = version
		news.changes = append(news.changes, change)
	}
	return news.changes
}

// publishing records a report if the write of its status failed but may have taken effect.
func (u *pendingEvents) publishing(echo types.NamespacedName, report status.Report, err error) {
	if !isRefusal(err) {
		u.news(echo).report = &report
	}
}

// published returns the transitions of a report whose status write appeared to fail but took effect. In this case, nothing else is left to
// report.
func (u *pendingEvents) published(echo *v1.Echo) []status.Transition {
	news, _ := u.Get(client.ObjectKeyFromObject(echo))
	if news == nil || news.report == nil || !controllers.SameStatus(&echo.Status, &news.report.Status) {
		return nil
	}
	due := news.report.Transitions
	news.changes, news.report = nil, nil
	return due
}

// done drops the changes that have now been reported.
func (u *pendingEvents) done(echo types.NamespacedName) {
	if news, found := u.Get(echo); found {
		news.changes, news.report = nil, nil
	}
}

// isRefusal reports whether an error proves that the request had no effect.
func isRefusal(err error) bool {
	var response apierrors.APIStatus
	if !errors.As(err, &response) {
		return false
	}
	code := response.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}
