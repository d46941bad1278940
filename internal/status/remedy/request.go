package remedy

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// Of returns the problem for an error from a reconcile.
func Of(err error) message.Problem {
	var invalid *children.InvalidSpecError
	var taken *children.NameConflictError
	var request *children.RequestError
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
func ofRequest(request *children.RequestError) message.Problem {
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
		return message.Problem{Text: "the API server rejects " + object, Quote: fieldErrors(status, words), Advice: fieldAdvice(request.Kind, status)}
	case IsQuotaExceeded(err):
		return Quota(words, object)
	case LacksPermission(err):
		return message.Problem{Text: "the operator has no permission for " + object, Quote: words,
			Advice: "Ask an administrator to restore the roles of the operator."}
	case apierrors.IsForbidden(err):
		return message.Problem{Text: "the API server forbids " + object, Quote: words, Advice: Creation(words)}
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

// fieldErrors returns what the API server reports about the fields of an object, without the object's name.
func fieldErrors(status apierrors.APIStatus, words string) string {
	var all []string
	for _, c := range causesOf(status) {
		all = append(all, c.Field+": "+c.Message)
	}
	return cmp.Or(strings.Join(all, "; "), words)
}

// groupOf returns the path and the type of the group of spec fields that determines the children of a kind. The type is nil if the spec has
// no group for the kind.
func groupOf(kind string) (path string, group reflect.Type) {
	switch kind {
	case "Deployment":
		return "spec", reflect.TypeFor[v1.EchoSpec]()
	case "Service":
		return "spec.service", reflect.TypeFor[v1.EchoService]()
	case "Ingress":
		return "spec.ingress", reflect.TypeFor[v1.EchoIngress]()
	case "NetworkPolicy":
		return "spec.networkPolicy", reflect.TypeFor[v1.EchoNetworkPolicy]()
	case "PodDisruptionBudget":
		return "spec.disruptionBudget", reflect.TypeFor[v1.EchoDisruptionBudget]()
	case "HTTPRoute":
		return "spec.gateway", reflect.TypeFor[v1.EchoGateway]()
	case "GRPCRoute":
		return "spec.gateway.grpc", reflect.TypeFor[v1.EchoGatewayGRPC]()
	case "BackendTLSPolicy":
		return "spec.gateway.backendTLS", reflect.TypeFor[v1.EchoGatewayBackendTLS]()
	case "CronJob":
		return "spec.checks", reflect.TypeFor[v1.EchoCheck]()
	default:
		return "", nil
	}
}

// inEcho returns the name that an Echo uses for a field of a child, or an empty string if both names are the same.
func inEcho(name string) string {
	switch name {
	case "ingressClassName":
		return "className"
	case "secretName":
		return "tlsSecretName"
	case "labels":
		return "podLabels"
	case "annotations":
		return "podAnnotations"
	default:
		return ""
	}
}

// fieldAdvice returns which fields of an Echo to change if the API server rejects fields of a child. The Echo schema cannot reject all
// invalid values, because the validity of some values depends on the cluster.
func fieldAdvice(kind string, status apierrors.APIStatus) string {
	path, group := groupOf(kind)
	if group == nil {
		return "Change the Echo's field that sets it."
	}
	var fields []string
	for _, c := range causesOf(status) {
		if name := fieldOf(group, c.Field); name != "" {
			fields = append(fields, path+"."+name)
		}
	}
	slices.Sort(fields)
	if fields = slices.Compact(fields); len(fields) > 0 {
		return fmt.Sprintf("Change or remove %s in the Echo.", strings.Join(fields, " and "))
	}
	return fmt.Sprintf("Check %s in the Echo.", path)
}

// causesOf returns what the API server reports about each field.
func causesOf(status apierrors.APIStatus) []metav1.StatusCause {
	if details := status.Status().Details; details != nil {
		return details.Causes
	}
	return nil
}

// fieldOf returns the name of the group's field that determines the child's field at a path: the last name in the path that also occurs in
// the group. The API server capitalizes some names.
func fieldOf(group reflect.Type, path string) string {
	names := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	for i, name := range slices.Backward(names) {
		if name == "securityContext" && names[max(i-1, 0)] == "spec" {
			name = "podSecurityContext"
		}
		if own := cmp.Or(findField(group, name), findField(group, inEcho(name))); own != "" {
			return own
		}
	}
	return ""
}

// findField returns the name of a field as an Echo spells it, or an empty string.
func findField(group reflect.Type, name string) string {
	for field := range group.Fields() {
		if own, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && strings.EqualFold(own, name) {
			return own
		}
	}
	return ""
}
