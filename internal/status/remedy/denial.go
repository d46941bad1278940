package remedy

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsDenied reports whether a webhook or a policy of admission control denies a request. Both choose the code and the reason of the response,
// so that only the words of the API server distinguish a denial: k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go,
// and dispatcher.go in the directory policy/validating next to it.
func IsDenied(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	_, webhook, found := strings.Cut(message, `admission webhook "`)
	return found && strings.Contains(webhook, `" denied the request`) || strings.Contains(message, " denied request: ")
}
