package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

// judgeRun writes what a run found out into the status of its check. accepted is the digest of the facts that become the baseline.
func judgeRun(status *v1.EchoCheckStatus, check *v1.EchoCheck, ended *corev1.ContainerStateTerminated, accepted string) {
	if ended.ExitCode != 0 {
		setUnknown(status, fmt.Sprintf("The last run gave no result: it ended with the exit code %d (%s). Check the log of its pod.",
			ended.ExitCode, cmp.Or(ended.Reason, "no reason is given")))
		return
	}
	v, err := pathverdict.Decode(ended.Message)
	if err != nil {
		setUnknown(status, fmt.Sprintf("The last run gave no valid result: %s.", err))
		return
	}
	status.LastTime = ended.FinishedAt.DeepCopy()
	if v.IsComplete() {
		status.Digest = v.Digest()
		compareWithBaseline(status, check, v, accepted)
	}
	failed := failuresOf(status, v)
	switch {
	case len(failed) > 0:
		status.Result, status.Message = v1.CheckFailed, truncate(strings.Join(failed, " "), maxStatusMessage)
	case v.Unfinished && !slices.Contains(slices.Collect(maps.Values(v.NotTested)), pathverdict.DeadlinePassed):
		setUnknown(status, "The last run could not examine everything. The log of its pod says why.")
	case v.Unfinished:
		setUnknown(status, fmt.Sprintf("The last run did not examine everything within its deadline of %d seconds. Raise deadlineSeconds, or examine fewer groups.",
			check.DeadlineSeconds))
	default:
		status.Result, status.Message = v1.CheckPassed, ""
	}
}

// compareWithBaseline compares the facts of a complete run with the baseline of its check. The first such run is the baseline. The digest
// that is accepted makes another one so once: what it accepted a year ago may be wrong today.
func compareWithBaseline(status *v1.EchoCheckStatus, check *v1.EchoCheck, v pathverdict.Verdict, accepted string) {
	if !check.Baseline {
		return
	}
	if accepted == "" {
		status.Accepted = ""
	}
	if len(status.Baseline) == 0 || accepted == status.Digest && accepted != status.Accepted {
		status.Baseline, status.Accepted = v.Facts, accepted
	}
	status.Changed = v.Changed(status.Baseline)
	status.Changed = status.Changed[:min(len(status.Changed), maxChanged)]
}

// failuresOf returns what a run found that should not be so.
func failuresOf(status *v1.EchoCheckStatus, v pathverdict.Verdict) []string {
	var failed []string
	if v.Problem != "" {
		return []string{"No Echo responds: " + sentence(v.Problem)}
	}
	for _, each := range v.Failed {
		failed = append(failed, fmt.Sprintf("%s is %s, expected %s.", each.Name, cmp.Or(each.Got, "not known"), each.Want))
	}
	if len(status.Changed) > 0 && v.IsComplete() { // what changed is not known otherwise
		failed = append(failed, fmt.Sprintf("Since the baseline has changed: %s.", strings.Join(status.Changed, ", ")))
	}
	return failed
}
