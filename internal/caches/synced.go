package caches

import "context"

// Synced is a channel and a runnable. A manager starts it when the manager's caches are filled, which closes the channel.
//
// A manager does not stop earlier. If its context ends, it still waits for its caches, and uses a whole core meanwhile:
// sigs.k8s.io/controller-runtime/pkg/manager/runnable_group.go. It does not hold the lease yet, so no replica has to wait for it.
type Synced chan struct{}

// Start implements manager.Runnable.
func (c Synced) Start(context.Context) error {
	close(c)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Processes that are not the leader fill their caches, too.
func (Synced) NeedLeaderElection() bool { return false }

// Then calls a function when the caches are filled.
func (c Synced) Then(do func()) {
	<-c
	do()
}
