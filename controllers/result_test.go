package controllers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestResult(t *testing.T) {
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
		"only an edit helps":   {err: &children.InvalidSpecError{Message: "too many"}, fails: true, terminal: true},
		"nothing to do":        {err: terminating},
		"waits for a name":     {err: &children.NameConflictError{}, after: time.Minute},
		"conflict":             {err: apierrors.NewConflict(things, "x", errors.New("old")), fails: true},
		"retried with backoff": {err: errors.New("connection refused"), fails: true},
		"forbidden":            {err: apierrors.NewForbidden(things, "x", errors.New("no")), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
			}
			got, failed := Result(time.Hour, status.Classify(err))
			if got.RequeueAfter != c.after || (failed != nil) != c.fails || errors.Is(failed, reconcile.TerminalError(nil)) != c.terminal {
				t.Errorf("got %+v, %v", got, failed)
			}
		})
	}
}
