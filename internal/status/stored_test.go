package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// statusTime is the time at which the statuses of all cases are evaluated.
var statusTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// evaluate returns an Echo with generation 4 and the status of the case.
func (c statusCase) evaluate(t *testing.T) *v1.Echo {
	t.Helper()
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Generation = 4
		e.Spec.Paused = c.paused
		if c.zero {
			e.Spec.Replicas = new(int32(0))
		}
	})
	if c.was != nil {
		record(&echo.Status, *c.was, 3, statusTime.Add(-c.ago))
	}
	seen := Observation{Deployment: c.seen}
	if c.pod != "" {
		seen.Pods = []corev1.Pod{podWith(t, "p", c.pod)}
	}
	echo.Status = Evaluate(echo, seen, Classify(c.err), statusTime).Status
	return echo
}

// TestEvaluate_matchesStoredEchoes compares the Echoes from the cases of TestEvaluate, as well as deleted Echoes, with a file in testdata.
// Tests in other modules read this file. UPDATE=1 rewrites the file.
func TestEvaluate_matchesStoredEchoes(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	for _, cases := range []map[string]statusCase{rolloutCases(), podCases(), leftAloneCases()} {
		for name, c := range cases {
			lines = append(lines, stored(t, name, c.evaluate(t)))
		}
	}
	for name, failure := range map[string]*Failure{"deleted": nil, "deletion refused": Classify(errors.New("no"))} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation = 4 })
		echo.Status = EvaluateDeletion(echo, Observation{Deployment: seenDeployment(done, 2, 2, 1)}, failure, statusTime).Status
		lines = append(lines, stored(t, name, echo))
	}
	slices.Sort(lines)
	got := "# Written by TestEvaluate_matchesStoredEchoes with UPDATE=1.\n" + strings.Join(lines, "")
	const file = "testdata/echoes.yaml"
	if os.Getenv("UPDATE") != "" {
		g.Expect(os.WriteFile(file, []byte(got), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(string(want)), "the Echoes differ from %s: UPDATE=1 rewrites the file", file)
}

// stored returns one line of YAML with the fields that determine an Echo's health. It omits messages, because their texts change often.
func stored(t *testing.T, name string, echo *v1.Echo) string {
	t.Helper()
	type object map[string]any
	conditions := []object{}
	for _, c := range echo.Status.Conditions {
		conditions = append(conditions, object{"type": c.Type, "status": c.Status, "reason": c.Reason})
	}
	line, err := json.Marshal(object{
		"metadata": object{"generation": echo.Generation},
		"spec":     object{"paused": echo.Spec.Paused},
		"status": object{"observedGeneration": echo.Status.ObservedGeneration, "phase": echo.Status.Phase, "message": "m",
			"conditions": conditions},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%s: %s\n", name, line)
}
