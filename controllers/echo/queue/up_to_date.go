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

// comparison holds the versions of an Echo's children that match their desired state, and the inputs that determine this state. Building
// and comparing the children again would take most of a reconcile's time. An edit by another client is never missed, because it changes the
// resource version. A version is recorded only after the object has been compared.
type comparison struct {
	echo       types.UID
	generation int64
	config     children.Config
	versions   []objectVersion // one for each kind, empty if no object is desired
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

// UpToDate holds, for each Echo, the last comparison in which the children matched their desired state.
type UpToDate struct{ controllers.Memory[comparison] }

// Record records that an Echo's children match their desired state.
func (u *UpToDate) Record(echo *v1.Echo, config children.Config, found []client.Object) {
	u.Set(client.ObjectKeyFromObject(echo), comparisonOf(echo, config, found))
}

// Holds reports whether nothing has changed since an Echo's children were found to match their desired state.
func (u *UpToDate) Holds(echo *v1.Echo, config children.Config, found []client.Object) bool {
	last, known := u.Get(client.ObjectKeyFromObject(echo))
	return known && last.equal(comparisonOf(echo, config, found))
}

// Lacks reports whether an Echo had no object of the given kind when its children were last found to match their desired state.
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
	return false // the cluster did not serve the kind
}
