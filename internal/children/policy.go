package children

import (
	"fmt"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Policy holds the limits that the installer of the operator sets.
type Policy struct {
	// MaxReplicas is the largest allowed spec.replicas.
	MaxReplicas int32
}

// Check returns an *InvalidSpecError if the policy does not allow an Echo.
func (p Policy) Check(echo *v1.Echo) error {
	if echo.Spec.Replicas > p.MaxReplicas {
		return &InvalidSpecError{fmt.Sprintf("spec.replicas is %d, but this operator allows at most %d. "+
			"Request fewer replicas, or ask an administrator to raise MAX_REPLICAS of the operator.", echo.Spec.Replicas, p.MaxReplicas)}
	}
	return nil
}
