package v1

// The condition types of an Echo. All but ConditionStalled and ConditionPathsHealthy are always present.
const (
	// ConditionReady is True when all requested echo servers are ready and no change is pending.
	ConditionReady = "Ready"
	// ConditionProgressing is True while a change is being rolled out.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True when a problem that requires action is known, or when pods have been missing for longer than the progress
	// deadline.
	ConditionDegraded = "Degraded"
	// ConditionStalled is True when the Echo cannot become ready until a user acts. It is set immediately if the operator rejects the spec
	// or a name is taken, and after a minute if the API server keeps rejecting a request. Otherwise, it is absent. kstatus reports a
	// stalled Echo as failed.
	ConditionStalled = "Stalled"
	// ConditionPathsHealthy is True when all checks have passed. It is present only if there are checks. No other condition depends on it.
	ConditionPathsHealthy = "PathsHealthy"
)

// The phases of an Echo. The OpenShift console has an icon for each.
const (
	PhasePending     = "Pending"
	PhaseUpdating    = "Updating"
	PhaseReady       = "Ready"
	PhaseWarning     = "Warning"
	PhaseFailed      = "Failed"
	PhaseTerminating = "Terminating"
)
