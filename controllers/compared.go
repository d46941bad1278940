package controllers

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// compared holds, of each Echo, which versions of its children were found to be as wanted. To build and to compare the children again
// would take most of the time of a pass. No foreign edit is lost: each gives an object another resource version, and a version is found
// here only if it was compared. Its methods may be called concurrently.
type compared struct {
	lock sync.Mutex
	of   map[types.NamespacedName]comparison
}

// comparison is what was compared: what the children depend on, and the children.
type comparison struct {
	echo       types.UID
	generation int64
	config     children.Config
	versions   []objectVersion // by kind, empty where no object is wanted
}

func comparisonOf(echo *v1.Echo, config children.Config, found []client.Object) comparison {
	versions := make([]objectVersion, len(found))
	for i, object := range found {
		versions[i] = versionOf(object)
	}
	return comparison{echo.UID, echo.Generation, config, versions}
}

func (c comparison) equal(other comparison) bool {
	return c.echo == other.echo && c.generation == other.generation && c.config.Equal(other.config) && slices.Equal(c.versions, other.versions)
}

// record keeps that the children of an Echo are as wanted.
func (m *compared) record(echo *v1.Echo, config children.Config, found []client.Object) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]comparison{}
	}
	m.of[client.ObjectKeyFromObject(echo)] = comparisonOf(echo, config, found)
}

// holds reports whether these versions of an Echo's children were found to be as wanted.
func (m *compared) holds(echo *v1.Echo, config children.Config, found []client.Object) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	last, known := m.of[client.ObjectKeyFromObject(echo)]
	return known && last.equal(comparisonOf(echo, config, found))
}

// forget drops what is held of an Echo that is gone.
func (m *compared) forget(echo types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.of, echo)
}

// asCompared reports whether nothing has changed since the children of an Echo were found to be as wanted. If so, it adds them to what the
// pass saw.
func (r *EchoReconciler) asCompared(ctx context.Context, echo *v1.Echo, config children.Config, seen *status.Observation) (bool, error) {
	if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return false, nil
	}
	kinds := children.Unbuilt(echo, config.Served)
	found := make([]client.Object, len(kinds))
	for i, c := range kinds {
		var err error
		if found[i], err = r.readCached(ctx, echo, c); err != nil {
			return false, err
		}
	}
	if !r.compared.holds(echo, config, found) {
		return false, nil
	}
	for i, c := range kinds {
		if found[i] != nil {
			seen.See(found[i])
			seen.Keep(c.Kind, found[i])
		}
	}
	return true, nil
}

// asWanted reports whether all children were found to be as wanted, those that are not wanted gone.
func asWanted(wanted []children.Child, live []client.Object, seen *status.Observation) bool {
	for i, c := range wanted {
		if live[i] != seen.AsWanted[c.Kind] || live[i] == nil && c.Want != nil {
			return false
		}
	}
	return true
}
