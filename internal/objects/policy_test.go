package objects

import (
	"errors"
	"strings"
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestPolicy_rejectsTooManyReplicas(t *testing.T) {
	for replicas, allowed := range map[int32]bool{0: true, 19: true, 20: true, 21: false, 1000: false} {
		err := Policy{MaxReplicas: 20}.Check(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = &replicas }))
		if allowed != (err == nil) {
			t.Errorf("%d replicas: %v", replicas, err)
		}
		if err != nil && (!errors.As(err, new(*InvalidSpecError)) || !strings.Contains(err.Error(), "spec.replicas") ||
			!strings.Contains(err.Error(), "MAX_REPLICAS")) {
			t.Errorf("the error does not say what to change: %v", err)
		}
	}
}
