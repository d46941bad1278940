package caches

import "context"

// Synced is a channel, and a runnable that closes the channel after a manager has filled its caches.
//
// A manager cannot stop before its caches are filled. If its context is canceled earlier, it keeps waiting and uses a whole CPU core (see
// sigs.k8s.io/controller-runtime/pkg/manager/runnable_group.go). It does not hold the lease yet, so no other replica has to wait for it.
type Synced chan struct{}

// Start implements manager.Runnable.
func (c Synced) Start(context.Context) error {
	close(c)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. All replicas fill their caches.
func (Synced) NeedLeaderElection() bool { return false }

// Then calls a function after the caches are filled.
func (c Synced) Then(do func()) {
	<-c
	do()
}
