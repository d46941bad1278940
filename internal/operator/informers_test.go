package operator

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// informer is one of which only the state is known.
type informer struct {
	cache.Informer
	filled bool
}

// HasSynced implements cache.Informer.
func (i *informer) HasSynced() bool { return i.filled }

func TestCachesAreReadyWhenTheyHaveAllObjects(t *testing.T) {
	echoes, pods, nodes := &informer{}, &informer{}, &informer{filled: true}
	all := informers{"v1.Pod": pods, "v1.Echo": echoes, "v1.Node": nodes}
	if err := all.check(nil); err == nil || !strings.HasSuffix(err.Error(), "v1.Echo, v1.Pod") {
		t.Errorf("two are not filled: %v", err)
	}
	echoes.filled = true
	if err := all.check(nil); err == nil || !strings.HasSuffix(err.Error(), ": v1.Pod") {
		t.Errorf("one is not filled: %v", err)
	}
	pods.filled = true
	if err := all.check(nil); err != nil || len(all.pending()) > 0 {
		t.Errorf("all are filled: %v", err)
	}
}
