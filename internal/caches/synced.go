package caches

import "context"

// Synced is a channel that is also a runnable. A manager starts the runnable once its caches are filled, and this closes the channel.
//
// A manager cannot stop before that. If its context ends, it still waits for its caches, and uses a whole core in the meantime:
// sigs.k8s.io/controller-runtime/pkg/manager/runnable_group.go. The manager does not hold the lease yet, so no other replica must wait for
// it.
type Synced chan struct{}

// Start implements manager.Runnable.
func (c Synced) Start(context.Context) error {
	close(c)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Replicas that are not the leader fill their caches, too.
func (Synced) NeedLeaderElection() bool { return false }

// Then calls a function when the caches are filled.
func (c Synced) Then(do func()) {
	<-c
	do()
}
