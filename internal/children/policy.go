package children

import (
	"fmt"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Policy holds the limits that the installer of the operator sets.
type Policy struct {
	// MaxReplicas is the largest allowed spec.replicas.
	MaxReplicas int32
	// PodSecurity is what the pods may ask for, companions included.
	PodSecurity PodSecurity
}

// Check returns an *InvalidSpecError if the policy does not allow an Echo, or what is wanted for it.
func (p Policy) Check(echo *v1.Echo, wanted ...Child) error {
	if echo.Spec.Replicas > p.MaxReplicas {
		return &InvalidSpecError{fmt.Sprintf("spec.replicas is %d, but this operator allows at most %d. "+
			"Request fewer replicas, or ask an administrator to raise MAX_REPLICAS of the operator.", echo.Spec.Replicas, p.MaxReplicas)}
	}
	for _, c := range wanted {
		if err := p.PodSecurity.check(c); err != nil {
			return err
		}
	}
	return nil
}
