package objects

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestError_includesAdvice(t *testing.T) {
	for want, err := range map[string]error{
		"replicas: too many":             &InvalidSpecError{Message: "replicas: too many"},
		"The pods are wrong: no. Change": &InvalidSpecError{Message: "The pods are wrong", Quote: "no", Advice: "Change"},
		"The Service x already exists, was not created for this Echo, and is not changed. Delete it.": &NameConflictError{
			Kind: "Service", Name: "x", For: "Echo", Advice: "Delete it."},
		"The Pod web-0-echo-1 already exists, was not created for this pod, and is not changed. Rename it.": &NameConflictError{
			Kind: "Pod", Name: "web-0-echo-1", For: "pod", Advice: "Rename it."},
	} {
		NewWithT(t).Expect(err.Error()).To(Equal(want))
	}
}
