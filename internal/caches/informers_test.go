package caches

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// informer is a fake informer that only reports whether it has synced.
type informer struct {
	cache.Informer
	filled bool
}

// HasSynced implements cache.Informer.
func (i *informer) HasSynced() bool { return i.filled }

func TestInformers_readyWhenAllFilled(t *testing.T) {
	g := NewWithT(t)
	echoes, pods, nodes := &informer{}, &informer{}, &informer{filled: true}
	all := Informers{"v1.Pod": pods, "v1.Echo": echoes, "v1.Node": nodes}
	g.Expect(all.Check(nil)).To(MatchError(HaveSuffix("v1.Echo, v1.Pod")), "two are not filled")
	echoes.filled = true
	g.Expect(all.Check(nil)).To(MatchError(HaveSuffix(": v1.Pod")), "one is not filled")
	pods.filled = true
	g.Expect(all.Check(nil)).To(Succeed())
	g.Expect(all.Pending()).To(BeEmpty())
}
