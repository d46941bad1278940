package permissions

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// without returns what everything writes, but for some permissions.
func without(lost ...Permission) []Permission {
	return slices.DeleteFunc(everything().Written(), func(p Permission) bool { return slices.Contains(lost, p) })
}

// TestTracesOfOthers checks that what another client left, or what looks alike, does not prove that the operator has a permission.
func TestTracesOfOthers(t *testing.T) {
	deployment := Children()[1]
	finalizer := on("example.com", "echoes", "patch")
	status := on("example.com", "echoes/status", "patch")
	written := on("apps", "deployments", "create", "patch")
	companion := on("", "pods", "create", "patch", "delete")
	event := on("events.k8s.io", "events", "create")
	lease := append(on("coordination.k8s.io", "leases", "create"), onNamed("coordination.k8s.io", "leases", "echo-operator.example.com", "update")...)
	for name, c := range map[string]struct {
		spoil func(*Traces)
		lost  []Permission
	}{
		"nothing is missing":           {func(*Traces) {}, nil},
		"finalizer that another wrote": {func(t *Traces) { t.Echo.ManagedFields[0].Manager = "kubectl" }, finalizer},
		"finalizer of another":         {func(t *Traces) { t.Echo.Finalizers = []string{"example.com/other"} }, finalizer},
		"finalizer that was applied":   {func(t *Traces) { t.Echo.ManagedFields[0].Operation = metav1.ManagedFieldsOperationApply }, finalizer},
		"status that another wrote":    {func(t *Traces) { t.Echo.ManagedFields[1].Manager = "kubectl" }, status},
		"scale in place of the status": {func(t *Traces) { t.Echo.ManagedFields[1].Subresource = "scale" }, status},
		"child that was not applied": {func(t *Traces) {
			t.Made[deployment].GetManagedFields()[0].Operation = metav1.ManagedFieldsOperationUpdate
		}, written},
		"child whose status was written": {func(t *Traces) { t.Made[deployment].GetManagedFields()[0].Subresource = "status" }, written},
		"child that another wrote":       {func(t *Traces) { t.Made[deployment].GetManagedFields()[0].Manager = "kubectl" }, written},
		"child of another Echo":          {func(t *Traces) { t.Made[deployment].GetOwnerReferences()[0].UID = "2" }, written},
		"child that is not controlled":   {func(t *Traces) { t.Made[deployment].GetOwnerReferences()[0].Controller = nil }, written},
		"child that stayed":              {func(t *Traces) { t.Gone = slices.Delete(t.Gone, 1, 2) }, on("apps", "deployments", "delete")},
		"children gone in another order": {func(t *Traces) { slices.Reverse(t.Gone) }, nil},
		"companion that another wrote":   {func(t *Traces) { t.Companion.ManagedFields[0].Manager = "kubectl" }, companion},
		"companion that was updated":     {func(t *Traces) { t.Companion.ManagedFields[0].Operation = metav1.ManagedFieldsOperationUpdate }, companion},
		"event of another Echo":          {func(t *Traces) { t.Events[0].Regarding.UID = "2" }, event},
		"event among those of others": {func(t *Traces) {
			t.Events = append(slices.Clone(t.Events[:0:0]), t.Events[0], t.Events[0])
			t.Events[0].ReportingController = "x"
		}, nil},
		"lease of a pod of a similar name": {func(t *Traces) { t.Lease.Spec.HolderIdentity = new("operator-10_2") }, lease},
		"lease of no pod of ours":          {func(t *Traces) { t.Pods = nil }, lease},
		"lease of the second pod":          {func(t *Traces) { t.Pods = []string{"operator-0", "operator-1"} }, nil},
		"lease of nobody":                  {func(t *Traces) { t.Lease.Spec.HolderIdentity = nil }, lease},
		"lease that was never acquired":    {func(t *Traces) { t.Lease.Spec.AcquireTime = nil }, lease},
		"lease that was never renewed":     {func(t *Traces) { t.Lease.Spec.RenewTime = nil }, lease},
		"lease that was renewed before": {func(t *Traces) {
			t.Lease.Spec.RenewTime = new(metav1.NewMicroTime(t.Lease.Spec.AcquireTime.Add(-time.Second)))
		}, lease},
	} {
		traces := everything()
		c.spoil(&traces)
		if diff := cmp.Diff(without(c.lost...), traces.Written()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMetricsTellWhetherTheAPIServerWasAsked checks that other answers, which come without it, are no trace.
func TestMetricsTellWhetherTheAPIServerWasAsked(t *testing.T) {
	asked := slices.Concat(on("authentication.k8s.io", "tokenreviews", "create"), on("authorization.k8s.io", "subjectaccessreviews", "create"))
	for status, want := range map[int]bool{
		http.StatusOK: true, http.StatusForbidden: true, http.StatusUnauthorized: false, http.StatusNotFound: false,
		http.StatusInternalServerError: false, http.StatusFound: false, 0: false,
	} {
		traces := everything()
		traces.MetricsStatus = status
		written := traces.Written()
		for _, p := range asked {
			if slices.Contains(written, p) != want {
				t.Errorf("after the answer %d, %s has a trace: %t, want %t", status, p, !want, want)
			}
		}
	}
}

// TestOneBlockingReferenceNeedsFinalizers checks that the permission, which is the same for all children, is needed once.
func TestOneBlockingReferenceNeedsFinalizers(t *testing.T) {
	finalizers := Permission{"example.com", "echoes/finalizers", "update", ""}
	for name, c := range map[string]struct {
		blocking func(i int) *bool
		want     int
	}{
		"all":   {func(int) *bool { return new(true) }, 1},
		"first": {func(i int) *bool { return new(i == 0) }, 1},
		"last":  {func(i int) *bool { return new(i == len(Children())-1) }, 1},
		"none":  {func(int) *bool { return new(false) }, 0},
		"unset": {func(int) *bool { return nil }, 0},
	} {
		traces := everything()
		for i, child := range Children() {
			traces.Made[child].GetOwnerReferences()[0].BlockOwnerDeletion = c.blocking(i)
		}
		written := slices.DeleteFunc(traces.Written(), func(p Permission) bool { return p != finalizers })
		if len(written) != c.want {
			t.Errorf("%s: %d permissions for finalizers, want %d", name, len(written), c.want)
		}
	}
}
