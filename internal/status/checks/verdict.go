package checks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/internal/pathverdict"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// judgeRun writes what a run found into the status of its check.
func judgeRun(current *v1.EchoCheckStatus, check *v1.EchoCheck, ended *corev1.ContainerStateTerminated) {
	if ended.ExitCode != 0 {
		setUnknown(current, fmt.Sprintf("The last run gave no result: it exited with code %d (%s). Check the log of its pod.",
			ended.ExitCode, cmp.Or(ended.Reason, "no reason is given")))
		return
	}
	v, err := pathverdict.Decode(ended.Message)
	if err != nil {
		setUnknown(current, fmt.Sprintf("The last run gave no valid result: %s.", err))
		return
	}
	current.LastRunTime = ended.FinishedAt.DeepCopy()
	failed := failuresOf(v)
	switch {
	case len(failed) > 0:
		current.Result, current.Message = v1.CheckFailed, message.Truncate(strings.Join(failed, " "), message.MaxCheck)
	case v.Unfinished == pathverdict.DeadlinePassed:
		setUnknown(current,
			fmt.Sprintf("The last run did not examine everything within its deadline of %d seconds. Raise deadlineSeconds, or examine fewer groups.",
				desired.CheckDeadline(check)/time.Second))
	case v.Unfinished != "":
		setUnknown(current, "The last run could not examine everything. Check the log of its pod.")
	default:
		current.Result, current.Message = v1.CheckPassed, ""
	}
}

// failuresOf returns what a run found that should not be so.
func failuresOf(v pathverdict.Verdict) []string {
	if v.Problem != "" {
		return []string{message.Problem{Text: "no Echo responds", Quote: v.Problem}.String()}
	}
	var failed []string
	for _, each := range v.Failed {
		failed = append(failed, fmt.Sprintf("%s is %s, expected %s.", each.Name, cmp.Or(each.Got, "not known"), each.Want))
	}
	return failed
}
