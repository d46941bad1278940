package caches

import "context"

// Synced is a channel that is also a runnable. A manager starts the runnable when the manager's caches are filled, and the runnable then
// closes the channel.
//
// A manager cannot stop before its caches are filled. If its context ends, it still waits for the caches, and uses a whole CPU core while
// it waits: sigs.k8s.io/controller-runtime/pkg/manager/runnable_group.go. At that time, the manager does not hold the lease, so no other
// replica has to wait for the manager.
type Synced chan struct{}

// Start implements manager.Runnable.
func (c Synced) Start(context.Context) error {
	close(c)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Replicas that are not the leader fill their caches, too.
func (Synced) NeedLeaderElection() bool { return false }

// Then calls a function after the caches are filled.
func (c Synced) Then(do func()) {
	<-c
	do()
}
