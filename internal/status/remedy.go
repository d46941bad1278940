package status

// This file provides advice on problems that the API server reports. Most problems can be distinguished only by the wording of the report,
// so each table names the source of its wording.

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// Remedy returns the problem for an error from a reconcile.
func Remedy(err error) message.Problem {
	var invalid *objects.InvalidSpecError
	var taken *objects.NameConflictError
	var request *objects.RequestError
	switch {
	case errors.As(err, &invalid):
		return message.Problem{Text: invalid.Message, Quote: invalid.Quote, Advice: invalid.Advice}
	case errors.As(err, &taken):
		return message.Problem{Text: taken.Text(), Advice: taken.Advice}
	case !errors.As(err, &request):
		return message.Problem{Text: "the operator cannot complete a change", Quote: err.Error(), Advice: retried}
	}
	object := fmt.Sprintf("the %s %s", request.Kind, request.Key.Name)
	words := cmp.Or(responseOf(request.Err).Message, request.Err.Error())
	switch err := request.Err; {
	case IsDenied(err):
		return message.Problem{Text: "an admission webhook or policy denies " + object, Quote: words, Advice: policy}
	case apierrors.IsInvalid(err):
		return message.Problem{Text: "the API server rejects " + object, Quote: after(" is invalid: ", words),
			Advice: fmt.Sprintf("Change %s in the Echo.", objects.FieldOf(request.Kind))}
	case IsQuotaExceeded(err):
		return quotaRemedy(words, object)
	case LacksPermission(err):
		return message.Problem{Text: "the operator has no permission for " + object, Quote: words,
			Advice: "Ask an administrator to restore the roles of the operator."}
	case apierrors.IsForbidden(err):
		return message.Problem{Text: "the API server forbids " + object, Quote: words, Advice: creationRemedy(words)}
	default:
		return message.Problem{Text: fmt.Sprintf("%s cannot be %s", object, request.Action), Quote: words,
			Advice: first(words, []rule{{webhookFailed, webhookAdvice + retried}}, retried)}
	}
}

// LacksPermission reports whether the API server rejects a request because the operator lacks a permission.
func LacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") && strings.Contains(err.Error(), " resource ")
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
	return !IsDenied(err) && quotaRemedy(responseOf(err).Message, "") != (message.Problem{})
}

// responseOf returns the API server's response to a request that failed, or the zero value if the error is not a response.
func responseOf(err error) metav1.Status {
	response := apierrors.APIStatus(nil)
	if errors.As(err, &response) {
		return response.Status()
	}
	return metav1.Status{}
}

// quotaRemedy returns the problem for an object that a resource quota rejects, or the zero value if the API server's message is about
// something else. If object is empty, the quota rejects the Deployment's pods. The messages come from
// k8s.io/apiserver/pkg/admission/plugin/resourcequota, which OpenShift's ClusterResourceQuotas also use.
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
	message := responseOf(err).Message
	_, webhook, found := strings.Cut(message, `admission webhook "`)
	return found && strings.Contains(webhook, `" denied the request`) || strings.Contains(message, " denied request: ")
}

// creationRemedy returns what to do if the API server rejects an Echo's pods. The admission plugins that reject pods are in
// k8s.io/pod-security-admission and k8s.io/kubernetes/plugin/pkg/admission. On OpenShift, security context constraints can do so, too.
func creationRemedy(message string) string {
	return first(message, []rule{
		{"violates PodSecurity", "Change spec.podSecurityContext and spec.securityContext, or relax the namespace's Pod Security Standard."},
		{"security context constraint", "Allow the ServiceAccount to use a suitable SecurityContextConstraints, or change spec.securityContext."},
		{"per Container", limitRange}, {"per Pod", limitRange},
		{"PriorityClass", "Create the PriorityClass, or change spec.priorityClassName."},
		{webhookFailed, webhookAdvice + "Kubernetes retries automatically."},
		{"status unknown for quota", "Wait until Kubernetes has computed the quota's usage. It retries automatically."},
		{"denied", policy},
	}, "Change the Echo accordingly, or ask a cluster administrator.")
}

const (
	// retried is the advice for an error that may resolve itself without a change to the Echo.
	retried = "The operator retries automatically."
	// webhookFailed is the API server's message about a webhook that it cannot call, and webhookAdvice begins the advice for it.
	webhookFailed, webhookAdvice = "failed calling webhook", "Check that the webhook's Service is available. "
	// limitRange is the advice for a rejection by the admission plugin k8s.io/kubernetes/plugin/pkg/admission/limitranger.
	limitRange = "Change spec.resources to fit the namespace's LimitRange."
	// policy is the advice for a denial by a webhook or a policy.
	policy = "Change the Echo as the policy requires, or ask the policy's administrator for an exception."
)

// rule is the advice for a message that contains certain words.
type rule struct{ words, advice string }

// first returns the advice of the first rule whose words occur in a message, or the given fallback if no rule matches.
func first(message string, rules []rule, otherwise string) string {
	for _, r := range rules {
		if strings.Contains(message, r.words) {
			return r.advice
		}
	}
	return otherwise
}
