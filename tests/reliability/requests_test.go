package reliability

import (
	"strings"
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// TestRequestsOfAnEcho limits how many requests an Echo causes. Watches and events do not count. Because the operator receives each change
// separately, there are more reconciles than on a real cluster. The order of some events is random, so a run may need slightly fewer
// requests than the limit.
func TestRequestsOfAnEcho(t *testing.T) {
	for _, c := range []struct {
		scenario
		most int
	}{
		{scenario{name: "create", steps: []step{create}}, 19},
		{scenario{name: "scale", steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Replicas = new(int32(3)) })}}, 19 + 4},
		{scenario{name: "delete", gone: true, steps: []step{create, remove}}, 19 + 11},
	} {
		run(t, plan{}, c.scenario, func(t *testing.T, s *simulation) {
			sent := 0
			for _, request := range s.outcome().order {
				if !strings.HasPrefix(request.name, "watch ") {
					sent++
				}
			}
			t.Logf("%s: %d requests", c.name, sent)
			if sent > c.most {
				t.Errorf("%s: %d requests, which is more than %d: %v", c.name, sent, c.most, s.outcome().order)
			}
		})
	}
}
