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

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestClassify(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	terminating := apierrors.NewForbidden(things, "x", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err    error
		reason string
		silent bool
		after  time.Duration
		fails  bool
		ends   bool
	}{
		"no error":              {},
		"over the limit":        {err: &specError{"too many"}, reason: v1.ReasonInvalidSpec, fails: true, ends: true},
		"invalid":               {err: apierrors.NewInvalid(schema.GroupKind{}, "x", nil), reason: v1.ReasonInvalidSpec, fails: true, ends: true},
		"name taken":            {err: &nameConflictError{"Service", "x"}, reason: v1.ReasonNameConflict, after: time.Minute},
		"conflict":              {err: apierrors.NewConflict(things, "x", errors.New("old")), silent: true, after: staleRetry},
		"namespace terminating": {err: terminating, silent: true},
		"forbidden":             {err: apierrors.NewForbidden(things, "x", errors.New("no")), reason: v1.ReasonForbidden, fails: true},
		"kind not known yet":    {err: apierrors.NewForbidden(things, "x", errors.New("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind Echo")), reason: v1.ReasonForbidden, after: mappingRetry},
		"quota used up":         {err: apierrors.NewForbidden(things, "x", errors.New("exceeded quota: q")), reason: v1.ReasonQuotaExceeded, fails: true},
		"too many requests":     {err: apierrors.NewTooManyRequests("later", 1), reason: v1.ReasonApplyFailed, fails: true},
		"no connection":         {err: errors.New("connection refused"), reason: v1.ReasonApplyFailed, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
			}
			failed := classify(err)
			if failed != nil && failed.reason != c.reason || failed.silent() != c.silent {
				t.Errorf("classified as %+v", failed)
			}
			result, got := failed.result()
			if result.RequeueAfter != c.after || (got != nil) != c.fails || errors.Is(got, reconcile.TerminalError(nil)) != c.ends {
				t.Errorf("the work queue is told %+v, %v", result, got)
			}
		})
	}
}
