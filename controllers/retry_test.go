package controllers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestFailures_toleratesOnlyRecentFailures(t *testing.T) {
	g := NewWithT(t)
	f, x, began := &failures{}, types.NamespacedName{Name: "x"}, time.Unix(1000, 0)
	tolerated := func(object types.NamespacedName, err error, after time.Duration) bool {
		return f.tolerate(object, status.Classify(err), began.Add(after)).Tolerated
	}
	refused := errors.New("refused")
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {Tolerance - 1, true}, {Tolerance, false}, {time.Hour, false}} {
		g.Expect(tolerated(x, refused, step.after)).To(Equal(step.want), "after %v", step.after)
	}
	g.Expect(tolerated(types.NamespacedName{Name: "y"}, refused, time.Hour)).To(BeTrue(), "the failure of another object counts")
	f.end(x, status.Classify(refused))
	g.Expect(tolerated(x, refused, time.Hour)).To(BeFalse(), "a failed reconcile ends the series")
	g.Expect(tolerated(x, &objects.InvalidSpecError{}, time.Hour)).To(BeFalse(), "a failure that only an edit can fix is tolerated")
	f.end(x, nil)
	g.Expect(tolerated(x, refused, 2*time.Hour)).To(BeTrue(), "a reconcile that succeeded does not end the series")
}

// TestFailures_slowsRetriesOfConflict counts the reconciles during a persistent conflict, which once caused 346 requests in 5 s.
func TestFailures_slowsRetriesOfConflict(t *testing.T) {
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("old"))
	f, reconciles := &failures{}, 0
	for after := time.Duration(0); ; reconciles++ {
		failure := f.tolerate(types.NamespacedName{}, status.Classify(stale), time.Unix(0, 0).Add(after))
		if !failure.Tolerated {
			break
		}
		after += failure.RetryAfter
	}
	if reconciles > 11 {
		t.Errorf("%d reconciles in %v", reconciles, Tolerance)
	}
}

func TestResultOf(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	terminating := apierrors.NewForbidden(things, "x", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err      error
		after    time.Duration
		fails    bool
		terminal bool
	}{
		"no error":             {after: time.Hour},
		"only an edit helps":   {err: &objects.InvalidSpecError{Message: "too many"}, fails: true, terminal: true},
		"nothing to do":        {err: terminating},
		"waits for a name":     {err: &objects.NameConflictError{}, after: time.Minute},
		"conflict":             {err: apierrors.NewConflict(things, "x", errors.New("old")), fails: true},
		"retried with backoff": {err: errors.New("connection refused"), fails: true},
		"forbidden":            {err: apierrors.NewForbidden(things, "x", errors.New("no")), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
			}
			got, failed := resultOf(time.Hour, status.Classify(err))
			if got.RequeueAfter != c.after || (failed != nil) != c.fails || errors.Is(failed, reconcile.TerminalError(nil)) != c.terminal {
				t.Errorf("got %+v, %v", got, failed)
			}
		})
	}
}
