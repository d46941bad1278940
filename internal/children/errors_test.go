package children

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"replicas: too many": &InvalidSpecError{Message: "replicas: too many"},
		`Service "x" already exists and was not created for this Echo. It is not changed. Delete it.`: &NameConflictError{
			Kind: "Service", Name: "x", For: "Echo", Advice: "Delete it."},
		`Pod "web-0-echo-1" already exists and was not created for this pod. It is not changed. Rename it.`: &NameConflictError{
			Kind: "Pod", Name: "web-0-echo-1", For: "pod", Advice: "Rename it."},
	} {
		NewWithT(t).Expect(err.Error()).To(Equal(want))
	}
}
