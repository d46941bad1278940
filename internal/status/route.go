package status

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// routePatience is how long a Gateway's controller may take to report on a new or changed route.
const routePatience = 30 * time.Second

// routeCause returns why Gateways do not send requests to an Echo as its spec requires, or a zero cause if no problem is known. The Echo's
// pods can still be ready. wait is the time until the next look at what no event reports, or zero if no look is necessary.
func routeCause(echo *v1.Echo, seen Observation, now time.Time) (why cause, wait time.Duration) {
	if !objects.HasGateway(echo) {
		return cause{}, 0
	}
	if len(seen.Unserved) > 0 {
		kind := seen.Unserved[0]
		problem := message.Problem{Text: fmt.Sprintf("The cluster does not serve %s in %s", kind.Kind, objects.GatewayGroupVersion()),
			Advice: "Install Gateway API 1.4 or later. The operator detects it within minutes and restarts."}
		if kind.Refused != "" {
			problem = message.Problem{Text: fmt.Sprintf("The operator cannot use the Gateway API kind %s", kind.Kind), Quote: kind.Refused,
				Advice: "Ask an administrator to fix what the message names, such as missing roles."}
		}
		// The cluster may serve a kind again before the operator restarts.
		return cause{reason: v1.ReasonGatewayAPIMissing, lasting: true, problem: problem}, LookPeriod
	}
	for _, parent := range echo.Spec.Gateway.ParentRefs {
		key := objects.GatewayKey(echo, parent)
		if seen.Gateways != nil && seen.Gateways[key] == nil {
			return notAccepted(message.Problem{Text: fmt.Sprintf("Gateway %s does not exist", key),
				Advice: "Create it, or change spec.gateway.parentRefs."}), wait
		}
		for _, r := range reportsOn(echo, seen, parent) {
			if r.isSilent() {
				left := routePatience - now.Sub(objects.AppliedAt(r.object))
				if left <= 0 {
					return notAccepted(message.Problem{
						Text:   fmt.Sprintf("No controller has reported whether Gateway %s accepts the %s", key, r.kind()),
						Advice: "Check that the controller of its GatewayClass is running."}), wait
				}
				wait = Earliest(wait, left)
			}
			if c := r.refusal(key); c != (cause{}) {
				return c, wait
			}
		}
	}
	return cause{}, wait
}

// notAccepted returns the cause of a route that a Gateway does not use.
func notAccepted(problem message.Problem) cause {
	return cause{reason: v1.ReasonRouteNotAccepted, lasting: true, problem: problem}
}

// reports holds what each controller reports, in a route or a policy, for one of the Echo's Gateways.
type reports struct {
	object     client.Object
	conditions [][]metav1.Condition
}

// reportsOn returns the reports on an Echo's routes and on its BackendTLSPolicy.
func reportsOn(echo *v1.Echo, seen Observation, parent v1.EchoGatewayReference) []reports {
	var all []reports
	if r := seen.HTTPRoute; r != nil {
		all = append(all, reports{r, objects.RouteConditions(r.Status.RouteStatus, echo, parent)})
	}
	if r := seen.GRPCRoute; r != nil {
		all = append(all, reports{r, objects.RouteConditions(r.Status.RouteStatus, echo, parent)})
	}
	if p := seen.BackendTLSPolicy; p != nil {
		all = append(all, reports{p, objects.PolicyConditions(p.Status, echo, parent)})
	}
	return all
}

// kind returns the kind of the route or policy, which is also the name of its Go type. Typed objects do not contain their kind.
func (r reports) kind() string { return reflect.TypeOf(r.object).Elem().Name() }

// refusal returns why a Gateway does not use the route or policy, in its controllers' words, or a zero cause if they report no problem.
func (r reports) refusal(gateway client.ObjectKey) cause {
	for _, condition := range slices.Concat(r.conditions...) {
		if condition.Status == metav1.ConditionFalse && isRequired(condition.Type) {
			return notAccepted(message.Problem{
				Text:  fmt.Sprintf("Gateway %s reports a problem with the %s (%s, %s)", gateway, r.kind(), condition.Type, condition.Reason),
				Quote: condition.Message, Advice: routeRemedy(condition.Reason)}) // some controllers give only a reason
		}
	}
	return cause{}
}

// routeRemedy returns what to do if a Gateway does not use a route or a policy, given the condition's reason.
func routeRemedy(reason string) string {
	switch gatewayv1.RouteConditionReason(reason) {
	case gatewayv1.RouteReasonNotAllowedByListeners:
		return "Allow routes from this namespace in a listener of the Gateway (allowedRoutes)."
	case gatewayv1.RouteReasonNoMatchingListenerHostname:
		return "Change spec.gateway.hostnames so that a listener of the Gateway matches them."
	case gatewayv1.RouteReasonNoMatchingParent:
		return "Set sectionName in spec.gateway.parentRefs to the name of a listener of the Gateway."
	case gatewayv1.RouteReasonUnsupportedProtocol:
		return "Change spec.service.appProtocol, or use a Gateway whose controller supports it."
	case gatewayv1.RouteReasonUnsupportedValue, gatewayv1.RouteReasonInvalidKind:
		return "Use a Gateway whose controller supports this, or change spec.gateway."
	default:
		return "Check spec.gateway in the Echo, and the listeners of the Gateway."
	}
}

// isSilent reports whether no controller has reported on the current generation of a route. A condition without a generation counts as
// current. Not all controllers report that they use a policy.
func (r reports) isSilent() bool {
	isOld := func(c metav1.Condition) bool {
		return isRequired(c.Type) && c.ObservedGeneration != 0 && c.ObservedGeneration < r.object.GetGeneration()
	}
	_, isPolicy := r.object.(*gatewayv1.BackendTLSPolicy)
	return !isPolicy && !slices.ContainsFunc(r.conditions, func(of []metav1.Condition) bool { return !slices.ContainsFunc(of, isOld) })
}

// isRequired reports whether a condition of a route or a policy must be true.
func isRequired(kind string) bool {
	return kind == string(gatewayv1.RouteConditionAccepted) || kind == string(gatewayv1.RouteConditionResolvedRefs)
}

// notesOn returns facts that a user of an Echo should know but that do not affect the Echo's conditions.
func notesOn(echo *v1.Echo, seen Observation) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if seen.Contested != "" {
		add("Another client keeps changing %s. Stop it, or change the Echo instead.", seen.Contested)
	}
	if objects.HasGateway(echo) && seen.GatewaysRefused != "" {
		add("%s", message.Problem{Text: "the URL of the Gateway is unknown", Quote: seen.GatewaysRefused})
	}
	if dropped := objects.DroppedTraffic(echo); len(dropped) > 0 {
		add("The NetworkPolicy drops traffic from %s. Add a namespaceSelector or an ipBlock for this traffic to spec.networkPolicy.from.",
			list(dropped))
	}
	switch ingress := seen.Ingress; { // Ingress controllers set the address in the status of an Ingress
	case seen.NoRoute != "":
		add("%s", seen.NoRoute)
	case !objects.HasIngress(echo) || ingress == nil || len(ingress.Status.LoadBalancer.Ingress) > 0:
	case echo.Spec.Ingress.ClassName == "":
		add("The Ingress has no address yet. Unless the cluster has a default IngressClass, set spec.ingress.className.")
	default:
		add("The Ingress has no address yet. Check that a controller uses the IngressClass %s.", echo.Spec.Ingress.ClassName)
	}
	switch n := seen.MissingCompanions; {
	case n == 1:
		add("1 companion is missing. The events of the Echo may give the reason.")
	case n > 1:
		add("%d companions are missing. The events of the Echo may give the reasons.", n)
	}
	if note := checkNote(echo); note != "" {
		add("%s", note)
	}
	return notes
}

func list(items []string) string {
	if last := len(items) - 1; last > 1 {
		return strings.Join(items[:last], ", ") + ", and " + items[last]
	}
	return strings.Join(items, " and ")
}

// checkNote returns the worst result of an Echo's checks, or an empty string if all have passed. It uses the previous status, because a
// separate reconciler handles checks. Each new result triggers another reconcile of the Echo.
func checkNote(echo *v1.Echo) string {
	const limit = 270 // leaves room for the number of ready pods
	unknown := ""
	for _, check := range echo.Status.Checks {
		switch {
		case check.Result == v1.CheckFailed:
			return message.Short(limit, message.Problem{Text: fmt.Sprintf("Check %s failed: %s", check.Name, check.Message),
				Advice: fmt.Sprintf("See the log of its pod on the Resources tab, or run "+
					"'kubectl logs -n %s -l app.kubernetes.io/instance=%s,%s=%s --tail=-1'.", echo.Namespace, echo.Name, v1.CheckLabel, check.Name)})
		case check.Result == v1.CheckUnknown && unknown == "": // the message contains the advice
			unknown = message.Truncate(fmt.Sprintf("Check %s has no result: %s", check.Name, check.Message), limit)
		}
	}
	return unknown
}
