package permissions

import (
	"net/http"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// operator is the name under which the operator writes fields and tells events.
const operator = "echo-operator"

// Traces are what the operator leaves in a cluster while an Echo that has every kind of child comes and goes.
type Traces struct {
	// Echo was Ready.
	Echo *v1.Echo
	// Made are the children of the Echo, and Gone those that the operator deleted.
	Made map[Child]metav1.Object
	Gone []Child
	// Companion is one that came and went while its owner stayed.
	Companion *corev1.Pod
	// Events tell of the Echo.
	Events []eventsv1.Event
	// Lease is that of the leader, and Pods name the pods of the operator.
	Lease *coordinationv1.Lease
	Pods  []string
	// MetricsStatus is what the operator answered to somebody with a token who asked for its metrics.
	MetricsStatus int
}

// Written are the permissions without which the traces would not be there.
func (t Traces) Written() []Permission {
	return slices.Concat(t.echo(), t.children(), t.companion(), t.events(), t.lease(), t.metrics())
}

func (t Traces) echo() []Permission {
	var all []Permission
	if slices.Contains(t.Echo.Finalizers, v1.Finalizer) && wrote(t.Echo, metav1.ManagedFieldsOperationUpdate, "") {
		all = append(all, on("example.com", "echoes", "patch")...)
	}
	if wrote(t.Echo, metav1.ManagedFieldsOperationUpdate, "status") {
		all = append(all, on("example.com", "echoes/status", "patch")...)
	}
	return all
}

func (t Traces) children() []Permission {
	var all []Permission
	blocking := false
	for _, child := range Children() {
		if made := t.Made[child]; made != nil && metav1.IsControlledBy(made, t.Echo) && wrote(made, metav1.ManagedFieldsOperationApply, "") {
			all = append(all, on(child.Group, child.Resource, "create", "patch")...)
			blocking = blocking || blocksDeletion(made)
		}
		if slices.Contains(t.Gone, child) {
			all = append(all, on(child.Group, child.Resource, "delete")...)
		}
	}
	if blocking { // which takes this where owner references are checked, as on OpenShift
		all = append(all, on("example.com", "echoes/finalizers", "update")...)
	}
	return all
}

func (t Traces) companion() []Permission {
	if t.Companion == nil || !wrote(t.Companion, metav1.ManagedFieldsOperationApply, "") {
		return nil
	}
	return on("", "pods", "create", "patch", "delete")
}

func (t Traces) events() []Permission {
	isOurs := func(event eventsv1.Event) bool {
		return event.ReportingController == operator && event.Regarding.UID == t.Echo.UID
	}
	if !slices.ContainsFunc(t.Events, isOurs) {
		return nil
	}
	return on("events.k8s.io", "events", "create")
}

// lease is held by a pod of the operator, and renewed. Client libraries note the name of the program's file as the writer, and not ours.
func (t Traces) lease() []Permission {
	if t.Lease == nil || t.Lease.Spec.HolderIdentity == nil {
		return nil
	}
	holds := func(pod string) bool { return strings.HasPrefix(*t.Lease.Spec.HolderIdentity, pod+"_") }
	acquired, renewed := t.Lease.Spec.AcquireTime, t.Lease.Spec.RenewTime
	if !slices.ContainsFunc(t.Pods, holds) || acquired == nil || renewed == nil || !renewed.After(acquired.Time) {
		return nil
	}
	return on("coordination.k8s.io", "leases", "create", "update")
}

// metrics are served, or refused to somebody who is known, only after the API server was asked who he is and what he may.
func (t Traces) metrics() []Permission {
	if t.MetricsStatus != http.StatusOK && t.MetricsStatus != http.StatusForbidden {
		return nil
	}
	return slices.Concat(
		on("authentication.k8s.io", "tokenreviews", "create"),
		on("authorization.k8s.io", "subjectaccessreviews", "create"))
}

// wrote tells whether the operator wrote fields of an object, in a certain way.
func wrote(object metav1.Object, operation metav1.ManagedFieldsOperationType, subresource string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == operator && entry.Operation == operation && entry.Subresource == subresource
	})
}

func blocksDeletion(object metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion
}
