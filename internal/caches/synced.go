package caches

import "context"

// Synced is a runnable that a manager starts when its caches are filled. It is closed then.
//
// Until then a manager does not stop. If its context ends earlier, it waits for its caches all the same, and uses a whole core meanwhile:
// sigs.k8s.io/controller-runtime/pkg/manager/runnable_group.go. It has no lease yet, so that no replica has to wait for it.
type Synced chan struct{}

// Start implements manager.Runnable.
func (c Synced) Start(context.Context) error {
	close(c)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. The caches of a process that is not the leader are filled, too.
func (Synced) NeedLeaderElection() bool { return false }

// Then calls a function when the caches are filled.
func (c Synced) Then(do func()) {
	<-c
	do()
}
