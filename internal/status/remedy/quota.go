package remedy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/echo-operator/echo-operator/internal/status/message"
)

// These phrases are from the API server's messages about quotas. OpenShift's ClusterResourceQuotas also use the library
// k8s.io/apiserver/pkg/admission/plugin/resourcequota.
const (
	quotaExceeded     = "exceeded quota: "
	quotaUnmet        = "failed quota: "
	quotaInsufficient = "insufficient quota to "
	mustSpecify       = ": must specify "
)

// IsQuotaExceeded reports whether the API server rejects a request because of a resource quota.
func IsQuotaExceeded(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && !IsDenied(err) && Quota(status.Status().Message, "") != (message.Problem{})
}

// Quota returns the problem for an object that a resource quota rejects, or the zero value if the API server's message is about something
// else. If object is empty, the quota rejects the Deployment's pods.
func Quota(words, object string) message.Problem {
	if _, why, found := strings.Cut(words, " is forbidden: "); found {
		words = why
	}
	subject := object
	if object == "" {
		subject = "the pods"
	}
	if said, found := strings.CutPrefix(words, quotaExceeded); found {
		return exceededProblem(said, object, subject)
	}
	if said, found := strings.CutPrefix(words, quotaUnmet); found {
		name, unset, _ := strings.Cut(said, mustSpecify)
		return unsetProblem(name, unset, subject)
	}
	if strings.HasPrefix(words, quotaInsufficient) {
		return message.Problem{Text: "no resource quota in the namespace allows " + subject, Quote: words,
			Advice: "Create a ResourceQuota that does, or ask a cluster administrator."}
	}
	return message.Problem{}
}

// exceededProblem returns the problem for a used-up quota, given text such as "few, requested: pods=1, used: pods=2, limited: pods=2".
func exceededProblem(said, object, subject string) message.Problem {
	name, numbers, found := strings.Cut(said, ", requested: ")
	if !found {
		return message.Problem{Text: "a resource quota has no room for " + subject, Quote: said, Advice: exceededAdvice(object, nil)}
	}
	resources := requested(numbers)
	return message.Problem{Text: fmt.Sprintf("the resource quota %s has no room for %s (%s)", name, subject, strings.Join(resources, ", ")),
		Quote: "requested: " + numbers, Advice: exceededAdvice(object, resources)}
}

// requested returns the names of the requested resources in a list such as "limits.cpu=2,pods=1, used: limits.cpu=1,pods=1".
func requested(numbers string) []string {
	list, _, _ := strings.Cut(numbers, ", used: ")
	var names []string
	for each := range strings.SplitSeq(list, ",") {
		name, _, _ := strings.Cut(each, "=")
		names = append(names, name)
	}
	return names
}

// exceededAdvice returns what to do if a quota does not allow more of the given resources.
func exceededAdvice(object string, resources []string) string {
	compute := slices.ContainsFunc(resources, func(name string) bool { return name != "pods" && name != "count/pods" })
	byType := func(name string) bool { return strings.HasPrefix(name, "services.") }
	switch {
	case object == "" && compute:
		return "Raise it, or lower spec.replicas or spec.resources."
	case object == "":
		return "Raise it, or lower spec.replicas."
	case slices.ContainsFunc(resources, byType):
		return "Raise it, change spec.service.type, or delete other Services."
	default:
		return "Raise it, or delete other objects."
	}
}

// unsetProblem returns the problem for containers that do not set the resources that a quota requires, given text such as "limits.cpu for:
// echo; limits.memory for: echo".
func unsetProblem(quota, unset, subject string) message.Problem {
	var names, fields []string
	for each := range strings.SplitSeq(unset, "; ") {
		name, _, _ := strings.Cut(each, " for: ")
		names = append(names, name)
		if !strings.Contains(name, ".") { // in quotas, cpu and memory mean requests.cpu and requests.memory
			name = "requests." + name
		}
		fields = append(fields, "spec.resources."+name)
	}
	return message.Problem{
		Text:   fmt.Sprintf("the resource quota %s requires %s of %s", quota, strings.Join(names, " and "), subject),
		Quote:  "must specify " + unset,
		Advice: fmt.Sprintf("Set %s in the Echo, or a default in a LimitRange.", strings.Join(fields, " and ")),
	}
}
