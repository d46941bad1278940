package queue

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/desired"
)

// comparison is what was found to be as it is desired: what the children of an Echo depend on, and the versions of the children. To build
// and to compare them again would take most of the time of a reconcile. No foreign edit is lost: each gives an object another resource
// version, and a version is here only if it was compared.
type comparison struct {
	echo       types.UID
	generation int64
	config     children.Config
	versions   []objectVersion // by kind, empty where no object is desired
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

// UpToDate holds which children of each Echo were last found to be as they are desired.
type UpToDate struct{ controllers.Memory[comparison] }

// Record keeps that the children of an Echo that were found are as they are desired.
func (u *UpToDate) Record(echo *v1.Echo, config children.Config, found []client.Object) {
	u.Set(client.ObjectKeyFromObject(echo), comparisonOf(echo, config, found))
}

// Holds reports whether nothing has changed since the children of an Echo were found to be as they are desired.
func (u *UpToDate) Holds(echo *v1.Echo, config children.Config, found []client.Object) bool {
	last, known := u.Get(client.ObjectKeyFromObject(echo))
	return known && last.equal(comparisonOf(echo, config, found))
}

// Lacks reports whether an Echo was last found to be as desired without an object of a kind.
func (u *UpToDate) Lacks(echo *v1.Echo, kind string) bool {
	last, known := u.Get(client.ObjectKeyFromObject(echo))
	if !known || last.echo != echo.UID {
		return false
	}
	for i, c := range desired.KindsOf(echo, last.config.Served) {
		if c.Kind == kind {
			return last.versions[i] == objectVersion{}
		}
	}
	return false // the cluster did not serve it
}
