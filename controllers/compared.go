package controllers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// comparison is what was found to be as wanted: what the children of an Echo depend on, and the versions of the children. To build and to
// compare them again would take most of the time of a pass. No foreign edit is lost: each gives an object another resource version, and a
// version is here only if it was compared.
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
	last, known := r.compared.get(client.ObjectKeyFromObject(echo))
	if !known || !last.equal(comparisonOf(echo, config, found)) {
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
