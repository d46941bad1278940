package controllers

import (
	"context"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// cacheLag is the maximum time that a reconcile waits for the cache to hold the operator's own writes.
const cacheLag = 10 * time.Second

// expectations holds, for each Echo, the writes of its last reconcile. The next reconcile waits until the cache holds them, because it
// would otherwise repeat them, and cause conflicts. If a new object is deleted before the cache holds it, the wait ends after cacheLag.
type expectations struct {
	memory[[]expectation]
}

// expectation is the version of an object that a reconcile wrote.
type expectation struct {
	echo    types.UID // not of another Echo that had the same name
	kind    reflect.Type
	key     client.ObjectKey
	version string
	created bool
	at      time.Time
}

// wrote records that an Echo's reconcile wrote an object. before is nil if the object was created.
func (e *expectations) wrote(echo *v1.Echo, before, after client.Object, now time.Time) {
	key := client.ObjectKeyFromObject(echo)
	e.set(key, append(e.get(key), expectation{echo.UID, reflect.TypeOf(after).Elem(),
		client.ObjectKeyFromObject(after), after.GetResourceVersion(), before == nil, now}))
}

// wait returns how long an Echo's reconcile must wait before it looks again, or zero if the cache holds all writes. It does not rely on the
// events of the writes, because the event of a status write starts a reconcile late. The wait doubles each time.
func (e *expectations) wait(ctx context.Context, cached client.Reader, echo *v1.Echo, now time.Time) (time.Duration, error) {
	for _, write := range e.get(client.ObjectKeyFromObject(echo)) {
		elapsed := now.Sub(write.at)
		if elapsed >= cacheLag || write.echo != echo.UID {
			continue
		}
		held := client.Object(echo)
		if write.kind != reflect.TypeFor[metav1.PartialObjectMetadata]() { // Echoes are written as metadata
			var err error
			held, err = find(ctx, cached, write.key, reflect.New(write.kind).Interface().(client.Object))
			if err != nil {
				return 0, err
			}
		}
		if !write.isIn(held) {
			return min(max(firstRetry, elapsed), cacheLag-elapsed), nil
		}
	}
	e.forget(client.ObjectKeyFromObject(echo))
	return 0, nil
}

// isIn reports whether the cache has reached a write. held is the cached object, or nil if there is none. An object that existed before the
// write is then gone.
func (e expectation) isIn(held client.Object) bool {
	if held == nil {
		return !e.created
	}
	order, err := resourceversion.CompareResourceVersion(e.version, held.GetResourceVersion())
	return e.version == held.GetResourceVersion() || err == nil && order < 0
}
