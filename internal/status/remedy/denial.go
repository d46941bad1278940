package remedy

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsDenied reports whether an admission webhook or policy denies a request. Both choose the code and the reason of the response, so only
// the API server's words distinguish a denial: k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go, and dispatcher.go in
// the directory policy/validating next to it.
func IsDenied(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	_, webhook, found := strings.Cut(message, `admission webhook "`)
	return found && strings.Contains(webhook, `" denied the request`) || strings.Contains(message, " denied request: ")
}
