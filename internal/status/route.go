package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// routePatience is how long the controller of a Gateway may take to say anything of a route that is new or was changed.
const routePatience = 30 * time.Second

// Unserved is a kind that the operator cannot use. Refused is why it may not, empty if the cluster does not serve it.
type Unserved struct{ Kind, Refused string }

// routeCause returns why Gateways do not send requests to an Echo as it asks for. Its pods can be ready all the same.
func routeCause(echo *v1.Echo, seen Observation, now time.Time) cause {
	if !children.HasGateway(echo) || echo.Spec.Paused {
		return cause{}
	}
	if len(seen.Unserved) > 0 {
		return unservedCause(seen.Unserved[0])
	}
	for _, parent := range echo.Spec.Gateway.ParentRefs {
		key := children.GatewayKey(echo, parent)
		if seen.Gateways != nil && seen.Gateways[key] == nil {
			return cause{reason: v1.ReasonRouteNotAccepted, lasting: true, message: fmt.Sprintf(
				"Gateway %s does not exist. Create it, or edit spec.gateway.parentRefs.", key)}
		}
		for _, route := range seen.routes() {
			if c := parentCause(route, key, children.ParentStatuses(statusOf(route), echo, parent), now); c != (cause{}) {
				return c
			}
		}
	}
	return cause{}
}

// unservedCause returns the cause that the operator cannot use a kind.
func unservedCause(u Unserved) cause {
	c := cause{reason: v1.ReasonGatewayAPIMissing, lasting: true}
	if u.Refused != "" {
		c.message = fmt.Sprintf("The operator cannot use the kind %s of Gateway API: %s", u.Kind, sentence(u.Refused))
		return c
	}
	c.message = fmt.Sprintf("The cluster does not serve %s of %s. Install Gateway API; the operator looks for it each minute.", u.Kind, children.GatewayGroupVersion())
	return c
}

// parentCause returns why a Gateway does not use a route, in the words of its controllers. said is what they say.
func parentCause(route client.Object, gateway client.ObjectKey, said []gatewayv1.RouteParentStatus, now time.Time) cause {
	c := cause{reason: v1.ReasonRouteNotAccepted, lasting: true}
	for _, status := range said {
		for _, condition := range status.Conditions {
			if condition.Status == metav1.ConditionFalse && isRequired(condition.Type) {
				c.message = fmt.Sprintf("Gateway %s does not use the %s as it should (%s, %s)", gateway, kindOf(route), condition.Type, condition.Reason)
				c.message = sentence(strings.TrimSuffix(c.message+": "+condition.Message, ": ")) // some controllers give a reason alone
				return c
			}
		}
	}
	if len(said) > 0 || now.Sub(children.AppliedAt(route)) < routePatience {
		return cause{}
	}
	c.message = fmt.Sprintf("No controller says whether Gateway %s accepts the %s. Check that the GatewayClass of the Gateway has a controller that is running.",
		gateway, kindOf(route))
	return c
}

// isRequired reports whether a condition of a route has to be true.
func isRequired(kind string) bool {
	return kind == string(gatewayv1.RouteConditionAccepted) || kind == string(gatewayv1.RouteConditionResolvedRefs)
}

// untilRouteOverdue returns when to look again at routes of which no controller has said anything, zero if there are none.
func untilRouteOverdue(echo *v1.Echo, seen Observation, now time.Time) time.Duration {
	if !children.HasGateway(echo) {
		return 0
	}
	if len(seen.Unserved) > 0 || seen.GatewaysRefused != "" {
		return lookPeriod
	}
	next := time.Duration(0)
	for _, route := range seen.routes() {
		silent := func(parent v1.EchoGatewayReference) bool {
			return len(children.ParentStatuses(statusOf(route), echo, parent)) == 0
		}
		if left := routePatience - now.Sub(children.AppliedAt(route)); left > 0 && slices.ContainsFunc(echo.Spec.Gateway.ParentRefs, silent) {
			next = earliest(next, left)
		}
	}
	return next
}

// routes returns the routes of an Echo that exist.
func (o *Observation) routes() []client.Object {
	var routes []client.Object
	if o.HTTPRoute != nil {
		routes = append(routes, o.HTTPRoute)
	}
	if o.GRPCRoute != nil {
		routes = append(routes, o.GRPCRoute)
	}
	return routes
}

// statusOf returns what controllers say of a route.
func statusOf(route client.Object) gatewayv1.RouteStatus {
	switch route := route.(type) {
	case *gatewayv1.HTTPRoute:
		return route.Status.RouteStatus
	case *gatewayv1.GRPCRoute:
		return route.Status.RouteStatus
	default:
		return gatewayv1.RouteStatus{}
	}
}

func kindOf(route client.Object) string {
	if _, ok := route.(*gatewayv1.GRPCRoute); ok {
		return "GRPCRoute"
	}
	return "HTTPRoute"
}
