package status

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
	"github.com/echo-operator/echo-operator/internal/children/routing"
)

// measure returns the status except for the phase, the message, and the conditions. Fields that the reconcile did not observe keep their
// values. The external URL also keeps its value until the spec is applied.
func measure(echo *v1.Echo, seen Observation, failure *Failure) *v1.EchoStatus {
	status := echo.Status.DeepCopy()
	status.ObservedGeneration = echo.Generation
	status.Selector = labels.SelectorFromSet(children.SelectorLabels(echo)).String()
	measureObjects(status, seen)
	if seen.Service != nil { // the Service works regardless of other failures
		status.URL = cmp.Or(routing.LiveURL(echo, seen.Service), status.URL)
	}
	if failure == nil && !echo.Spec.Paused {
		status.URL = routing.URL(echo)
		if seen.Service != nil && !seen.GatewaysUnknown {
			status.ExternalURL = routing.ExternalURL(echo, seen.Service, seen.HTTPRoute, seen.Gateways)
		}
	}
	if seen.Nodes != nil {
		status.NodeProblems = nodeProblems(seen.Nodes)
	}
	return status
}

// measureObjects records in a status which objects of an Echo exist.
func measureObjects(status *v1.EchoStatus, seen Observation) {
	measureDeployment(status, seen)
	if seen.Pods != nil {
		status.Pods = podStates(seen.Pods)
	}
	if seen.Companions != nil {
		status.Companions = countLive(seen.Companions)
	}
}

// measureDeployment records a Deployment's replica counts and its image in a status.
func measureDeployment(status *v1.EchoStatus, seen Observation) {
	d := seen.Deployment
	if d == nil && !seen.NoDeployment {
		return
	}
	if d == nil {
		d = &appsv1.Deployment{}
	}
	status.Replicas = d.Status.Replicas
	status.ReadyReplicas = d.Status.ReadyReplicas
	status.UpdatedReplicas = d.Status.UpdatedReplicas
	status.Image = ""
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name == echopod.ContainerName {
			status.Image = container.Image
		}
	}
}
