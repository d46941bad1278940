// Package remedy provides advice on problems that Kubernetes, a container registry, or a Gateway reports. Most problems can be
// distinguished only by the wording of the report, so each table names the source of its wording.
package status

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// Of returns the problem for an error from a reconcile.
func Remedy(err error) message.Problem {
	var invalid *objects.InvalidSpecError
	var taken *objects.NameConflictError
	var request *objects.RequestError
	switch {
	case errors.As(err, &invalid):
		return message.Problem{Text: invalid.Message, Quote: invalid.Quote, Advice: invalid.Advice}
	case errors.As(err, &taken):
		return message.Problem{Text: taken.Text(), Advice: taken.Advice}
	case errors.As(err, &request):
		return ofRequest(request)
	default:
		return message.Problem{Text: "the operator cannot complete a change", Quote: err.Error(), Advice: retried}
	}
}

// retried is the advice for an error that may resolve itself without a change to the Echo.
const retried = "The operator retries automatically."

// ofRequest returns the problem that a failed request for a child causes.
func ofRequest(request *objects.RequestError) message.Problem {
	object := fmt.Sprintf("the %s %s", request.Kind, request.Key.Name)
	words := request.Err.Error()
	status := apierrors.APIStatus(nil)
	if errors.As(request.Err, &status) {
		words = status.Status().Message
	}
	switch err := request.Err; {
	case IsDenied(err):
		return message.Problem{Text: "an admission webhook or policy denies " + object, Quote: words, Advice: policy}
	case apierrors.IsInvalid(err):
		return message.Problem{Text: "the API server rejects " + object, Quote: after(" is invalid: ", words),
			Advice: fmt.Sprintf("Change %s in the Echo.", fieldsOf(request.Kind))}
	case IsQuotaExceeded(err):
		return quotaRemedy(words, object)
	case LacksPermission(err):
		return message.Problem{Text: "the operator has no permission for " + object, Quote: words,
			Advice: "Ask an administrator to restore the roles of the operator."}
	case apierrors.IsForbidden(err):
		return message.Problem{Text: "the API server forbids " + object, Quote: words, Advice: creationRemedy(words)}
	default:
		return message.Problem{Text: fmt.Sprintf("%s cannot be %s", object, request.Action), Quote: words, Advice: retryAdvice(words)}
	}
}

// LacksPermission reports whether the API server rejects a request because the operator lacks a permission.
func LacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") && strings.Contains(err.Error(), " resource ")
}

// retryAdvice returns what to do about an error that the operator retries.
func retryAdvice(words string) string {
	return first(words, []rule{{webhookFailed, webhookAdvice + retried}}, retried)
}

// fieldsOf returns which fields of an Echo determine the children of a kind.
func fieldsOf(kind string) string {
	return cmp.Or(map[string]string{"Service": "spec.service", "Ingress": "spec.ingress", "NetworkPolicy": "spec.networkPolicy",
		"PodDisruptionBudget": "spec.disruptionBudget", "HTTPRoute": "spec.gateway", "GRPCRoute": "spec.gateway.grpc",
		"BackendTLSPolicy": "spec.gateway.backendTLS", "CronJob": "spec.checks"}[kind], "the spec")
}

// after returns the part of a message after the words that end the object's name, or the whole message.
func after(words, message string) string {
	if _, why, found := strings.Cut(message, words); found {
		return why
	}
	return message
}

// IsQuotaExceeded reports whether the API server rejects a request because of a resource quota.
func IsQuotaExceeded(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && !IsDenied(err) && quotaRemedy(status.Status().Message, "") != (message.Problem{})
}

// Quota returns the problem for an object that a resource quota rejects, or the zero value if the API server's message is about something
// else. If object is empty, the quota rejects the Deployment's pods. The messages come from k8s.io/apiserver/pkg/admission/plugin/resourcequota,
// which OpenShift's ClusterResourceQuotas also use.
func quotaRemedy(words, object string) message.Problem {
	problem := message.Problem{Text: "a resource quota rejects " + cmp.Or(object, "the pods"), Quote: after(" is forbidden: ", words)}
	switch {
	case strings.HasPrefix(problem.Quote, "exceeded quota: ") && object == "":
		problem.Advice = "Raise it, or lower spec.replicas or spec.resources."
	case strings.HasPrefix(problem.Quote, "exceeded quota: "):
		problem.Advice = "Raise it, or delete other objects."
	case strings.HasPrefix(problem.Quote, "failed quota: "):
		problem.Advice = "Set spec.resources in the Echo, or a default in a LimitRange."
	case strings.HasPrefix(problem.Quote, "insufficient quota to "):
		problem.Advice = "Create a ResourceQuota that allows this, or ask a cluster administrator."
	default:
		return message.Problem{}
	}
	return problem
}

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

// Route returns what to do if a Gateway does not use a route or a policy, given the condition's reason.
func routeRemedy(reason string) string {
	switch gatewayv1.RouteConditionReason(reason) {
	case gatewayv1.RouteReasonNotAllowedByListeners:
		return "Allow routes from this namespace in a listener of the Gateway (allowedRoutes)."
	case gatewayv1.RouteReasonNoMatchingListenerHostname:
		return "Change spec.gateway.hostnames so that a listener of the Gateway matches them."
	case gatewayv1.RouteReasonNoMatchingParent:
		return "Set sectionName in spec.gateway.parentRefs to the name of a listener of the Gateway."
	case gatewayv1.RouteReasonUnsupportedValue, gatewayv1.RouteReasonUnsupportedProtocol, gatewayv1.RouteReasonIncompatibleFilters,
		gatewayv1.RouteReasonInvalidKind:
		return "Use a Gateway whose controller supports this, or change spec.gateway."
	default:
		return "Check spec.gateway in the Echo, and the listeners of the Gateway."
	}
}
