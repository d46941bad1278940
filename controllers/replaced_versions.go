package controllers

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// replacedVersions holds, of each Echo, the resource versions that the operator's own writes replaced and that the cache may still hold.
// A pass over one of them would write a status that the API server refuses as a conflict. Its methods may be called concurrently.
type replacedVersions struct {
	lock sync.Mutex
	of   map[types.NamespacedName][]string
}

// add records a write. One that changed nothing has replaced nothing.
func (v *replacedVersions) add(before, after *v1.Echo) {
	if before.ResourceVersion == after.ResourceVersion {
		return
	}
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.of == nil {
		v.of = map[types.NamespacedName][]string{}
	}
	key := client.ObjectKeyFromObject(before)
	v.of[key] = append(v.of[key], before.ResourceVersion)
}

// have reports whether the version of an Echo that the cache holds was replaced. If not, the cache has caught up, and nothing is held of
// the Echo any more.
func (v *replacedVersions) have(cached *v1.Echo) bool {
	v.lock.Lock()
	defer v.lock.Unlock()
	key := client.ObjectKeyFromObject(cached)
	if slices.Contains(v.of[key], cached.ResourceVersion) {
		return true
	}
	delete(v.of, key)
	return false
}

// forget drops what is held of an Echo that is gone.
func (v *replacedVersions) forget(echo types.NamespacedName) {
	v.lock.Lock()
	defer v.lock.Unlock()
	delete(v.of, echo)
}
