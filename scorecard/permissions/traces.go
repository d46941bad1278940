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

// operator is the field manager of the operator, and the reporting controller of its events.
const operator = "echo-operator"

// Traces contains what the operator writes to a cluster while an Echo with every kind of child is created and deleted.
type Traces struct {
	// Echo is the Echo when it was Ready.
	Echo *v1.Echo
	// Made contains the children of the Echo, and Gone those that the operator deleted.
	Made map[Child]metav1.Object
	Gone []Child
	// Companion is a companion that was deleted before its owner.
	Companion *corev1.Pod
	// Events are the events of the Echo.
	Events []eventsv1.Event
	// Lease is the lease of the leader election, and Pods are the names of the pods of the operator.
	Lease *coordinationv1.Lease
	Pods  []string
	// MetricsStatus is the HTTP status of an authenticated request for the metrics of the operator.
	MetricsStatus int
}

// Written returns the permissions without which the traces could not exist.
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
		if object := t.Made[child]; object != nil && metav1.IsControlledBy(object, t.Echo) && wrote(object, metav1.ManagedFieldsOperationApply, "") {
			all = append(all, on(child.Group, child.Resource, "create", "patch")...)
			blocking = blocking || blocksDeletion(object)
		}
		if slices.Contains(t.Gone, child) {
			all = append(all, on(child.Group, child.Resource, "delete")...)
		}
	}
	if blocking { // which requires this permission with the admission plugin OwnerReferencesPermissionEnforcement, as on OpenShift
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

// lease requires that a pod of the operator holds and has renewed the lease. Its field manager is the name of the executable.
func (t Traces) lease() []Permission {
	if t.Lease == nil || t.Lease.Spec.HolderIdentity == nil {
		return nil
	}
	holds := func(pod string) bool { return strings.HasPrefix(*t.Lease.Spec.HolderIdentity, pod+"_") }
	acquired, renewed := t.Lease.Spec.AcquireTime, t.Lease.Spec.RenewTime
	if !slices.ContainsFunc(t.Pods, holds) || acquired == nil || renewed == nil || !renewed.After(acquired.Time) {
		return nil
	}
	return slices.Concat(on("coordination.k8s.io", "leases", "create"), onNamed("coordination.k8s.io", "leases", lease, "update"))
}

// metrics returns the permissions to review tokens and access, without which the status would be neither OK nor Forbidden.
func (t Traces) metrics() []Permission {
	if t.MetricsStatus != http.StatusOK && t.MetricsStatus != http.StatusForbidden {
		return nil
	}
	return slices.Concat(
		on("authentication.k8s.io", "tokenreviews", "create"),
		on("authorization.k8s.io", "subjectaccessreviews", "create"))
}

// wrote reports whether the operator wrote fields of an object with the given operation and subresource.
func wrote(object metav1.Object, operation metav1.ManagedFieldsOperationType, subresource string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == operator && entry.Operation == operation && entry.Subresource == subresource
	})
}

func blocksDeletion(object metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion
}
