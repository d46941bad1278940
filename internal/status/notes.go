package status

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"

	"github.com/echo-operator/echo-operator/internal/status/message"
)

// maxLine is the maximum length, in bytes, of a note on a check.
const maxLine = 220

// notesOn returns facts that a user of an Echo should know but that do not affect the Echo's conditions.
func notesOn(echo *v1.Echo, seen Observation) []string {
	notes := []string{contestNote(seen), gatewayNote(echo, seen), policyNote(echo), ingressNote(echo, seen), companionNote(seen), checkNote(echo)}
	return slices.DeleteFunc(notes, func(note string) bool { return note == "" })
}

// contestNote names a field that another client keeps changing, or returns an empty string if there is none.
func contestNote(seen Observation) string {
	if seen.Contested == "" {
		return ""
	}
	return fmt.Sprintf("Another client keeps changing %s. Stop it, or change the Echo instead.", seen.Contested)
}

// gatewayNote returns why the URL of a Gateway is unknown, or an empty string if it is known.
func gatewayNote(echo *v1.Echo, seen Observation) string {
	if !objects.HasGateway(echo) || seen.GatewaysRefused == "" {
		return ""
	}
	return message.Problem{Text: "the URL of the Gateway is unknown", Quote: seen.GatewaysRefused}.String()
}

// policyNote names the traffic sources that an Echo's spec enables but its NetworkPolicy blocks, and says what to change.
func policyNote(echo *v1.Echo) string {
	dropped := objects.DroppedTraffic(echo)
	if len(dropped) == 0 {
		return ""
	}
	return fmt.Sprintf("The NetworkPolicy drops traffic from %s. Add a namespaceSelector or an ipBlock for this traffic to spec.networkPolicy.from.",
		strings.Join(dropped, " and "))
}

// ingressNote returns why no request can reach the Echo through the Ingress, or an empty string if no problem is known. Ingress controllers
// set the address in the status of an Ingress.
func ingressNote(echo *v1.Echo, seen Observation) string {
	switch ingress := seen.Ingress; {
	case seen.NoRoute != "":
		return seen.NoRoute
	case !objects.HasIngress(echo) || ingress == nil || len(ingress.Status.LoadBalancer.Ingress) > 0:
		return ""
	case echo.Spec.Ingress.ClassName == "":
		return "The Ingress has no address yet. Unless the cluster has a default IngressClass, set spec.ingress.className."
	default:
		return fmt.Sprintf("The Ingress has no address yet. Check that a controller uses the IngressClass %s.", echo.Spec.Ingress.ClassName)
	}
}

// companionNote returns how many companions are missing, or an empty string if none are. Events give the reasons.
func companionNote(seen Observation) string {
	switch n := seen.MissingCompanions; n {
	case 0:
		return ""
	case 1:
		return "1 companion is missing. The events of the Echo may give the reason."
	default:
		return fmt.Sprintf("%d companions are missing. The events of the Echo may give the reasons.", n)
	}
}

// checkNote returns the worst result of an Echo's checks, or an empty string if all have passed. It uses the previous status, because a
// separate reconciler handles checks. Each new result triggers another reconcile of the Echo.
func checkNote(echo *v1.Echo) string {
	for _, worst := range []struct {
		result v1.CheckResult
		words  string
	}{{v1.CheckFailed, "failed"}, {v1.CheckUnknown, "has no result"}} {
		for _, check := range echo.Status.Checks {
			if check.Result == worst.result {
				return message.Truncate(fmt.Sprintf("Check %s %s: %s", check.Name, worst.words, check.Message), maxLine)
			}
		}
	}
	return ""
}
