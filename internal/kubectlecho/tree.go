package kubectlecho

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/kinds"
)

// shown returns the kinds of objects that the operator creates for an Echo, and the kinds of objects that Kubernetes creates for those
// objects.
func shown() []kinds.Kind {
	all := append(kinds.Table(), kinds.Kind{Version: "v1", Kind: "Pod", Resource: "pods"},
		kinds.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets"})
	slices.SortFunc(all, func(a, b kinds.Kind) int { return strings.Compare(a.Kind, b.Kind) })
	return all
}

// pathOf returns the path of a kind in the Kubernetes API. Kinds in the core group use the legacy path.
func pathOf(kind kinds.Kind) string {
	if kind.Group == "" {
		return "api/" + kind.Version
	}
	return "apis/" + kind.Group + "/" + kind.Version
}

// object is an object that belongs to an Echo.
type object struct {
	Metadata           metav1.ObjectMeta
	kind, owner, lines string            // lines connects the object with its owner
	cells              map[string]string // the columns that kubectl shows
}

// name returns kind/name, a form that kubectl accepts.
func (o *object) name() string { return o.kind + "/" + o.Metadata.Name }

// objects returns the objects with an Echo's labels, and the errors for the kinds that cannot be read.
func (c *cluster) objects(ctx context.Context, echo string) (all []object, problems []error) {
	selector := "app.kubernetes.io/instance=" + echo + ",app.kubernetes.io/managed-by=echo-operator"
	for _, kind := range shown() {
		table := metav1.Table{} // each row includes the metadata of its object
		request := c.from(pathOf(kind), kind.Resource).Param("labelSelector", selector).SetHeader("Accept",
			"application/json;as=Table;v=v1;g=meta.k8s.io")
		err := read(ctx, request, &table)
		for _, row := range table.Rows {
			o := object{kind: kind.Kind, cells: map[string]string{}}
			err = cmp.Or(err, json.Unmarshal(row.Object.Raw, &o))
			for i, column := range table.ColumnDefinitions {
				o.cells[column.Name] = fmt.Sprint(row.Cells[i])
			}
			all = append(all, o)
		}
		if !apierrors.IsNotFound(err) && (!apierrors.IsForbidden(err) || c.serves(ctx, kind)) { // not every cluster serves all kinds
			problems = append(problems, err)
		}
	}
	return all, problems
}

// serves reports whether the cluster serves a kind, or may serve it. A request for a kind that is not served is forbidden if the user lacks
// the permission, because the API server checks permissions first. All users may read the list of served kinds.
func (c *cluster) serves(ctx context.Context, kind kinds.Kind) bool {
	list := metav1.APIResourceList{}
	if err := read(ctx, c.Get().AbsPath(pathOf(kind)), &list); err != nil {
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource })
}

// tree returns an Echo and the objects that belong to it. Each object follows its owner. The tree omits objects that have the Echo's labels
// but a different owner, and ReplicaSets without pods, such as ReplicaSets of earlier revisions. The numbers in a ReplicaSet's status exclude
// terminating pods.
func tree(echo object, objects []object) []object {
	owned := map[types.UID][]object{}
	for _, o := range objects {
		owner := metav1.GetControllerOfNoCopy(&o.Metadata)
		if owner == nil || o.cells["Desired"] == "0" && o.cells["Current"] == "0" && !owns(objects, o.Metadata.UID) {
			continue
		}
		parent := owner.UID
		if owner.Kind != "Echo" && !contains(objects, parent) { // the parent may be unreadable, or may be the pod that has a companion
			parent = echo.Metadata.UID
		}
		owned[parent] = append(owned[parent], o)
	}
	return append([]object{echo}, branches(owned, &echo, "")...)
}

func contains(all []object, uid types.UID) bool {
	return slices.ContainsFunc(all, func(o object) bool { return o.Metadata.UID == uid })
}

// owns reports whether any of the objects has the owner with the given UID.
func owns(all []object, uid types.UID) bool {
	return slices.ContainsFunc(all, func(o object) bool {
		owner := metav1.GetControllerOfNoCopy(&o.Metadata)
		return owner != nil && owner.UID == uid
	})
}

// branches returns the objects below an owner in the tree. The lines of each object begin with the given lines, which belong to the levels
// above.
func branches(owned map[types.UID][]object, owner *object, lines string) (all []object) {
	for i, o := range owned[owner.Metadata.UID] {
		here, below := "├─", "│ "
		if i == len(owned[owner.Metadata.UID])-1 {
			here, below = "└─", "  "
		}
		o.owner, o.lines = owner.name(), lines+here
		all = append(append(all, o), branches(owned, &o, lines+below)...)
	}
	return all
}
