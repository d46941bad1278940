package remedy

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// coded returns an API server error with the given code.
func coded(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

// TestIsDenied covers the API server's messages from k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go and
// k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
func TestIsDenied(t *testing.T) {
	const webhook, policy = `admission webhook "w.example.org" denied the request`, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
	for _, code := range []int32{400, 401, 403, 404, 409, 413, 422, 429, 500} {
		for message, want := range map[string]bool{
			webhook + ": no":                                                                  true,
			webhook + ": exceeded quota: q":                                                   true,
			webhook + " without explanation":                                                  true,
			`deployments.apps "x" is forbidden: ` + policy:                                    true,
			`deployments.apps "x" is forbidden: policy "p" denied request: no`:                true,
			`failed calling webhook "w.example.org": no`:                                      false,
			`admission webhook "w.example.org" does not support dry run`:                      false,
			`deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments"`: false,
		} {
			err := fmt.Errorf("applying: %w", coded(code, message))
			if got := IsDenied(err); got != want {
				t.Errorf("%d %s: got %t", code, message, got)
			}
		}
	}
	if IsDenied(nil) || IsDenied(errors.New(webhook)) {
		t.Error("an error that is not the API server's counts as a denial")
	}
}
