package remedy

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsDenied reports whether an admission webhook or policy denies a request. Webhooks and policies choose the code and the reason of the
// response, so only the wording of the API server's message identifies a denial. The wording comes from
// k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go and
// k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
func IsDenied(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	_, webhook, found := strings.Cut(message, `admission webhook "`)
	return found && strings.Contains(webhook, `" denied the request`) || strings.Contains(message, " denied request: ")
}
