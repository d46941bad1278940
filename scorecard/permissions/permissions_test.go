package permissions

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

// listed returns the permissions of the bundle.
func listed(t *testing.T) []Permission {
	t.Helper()
	b, err := bundle.Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	install := b.CSV.Spec.Install.Spec
	var rules []rbacv1.PolicyRule
	for _, permissions := range slices.Concat(install.Permissions, install.ClusterPermissions) {
		rules = append(rules, permissions.Rules...)
	}
	return Listed(rules)
}

func writtenBy(operation metav1.ManagedFieldsOperationType, subresource string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: operator, Operation: operation, Subresource: subresource}
}

// everything returns the traces of an operator that uses all of its permissions.
func everything() Traces {
	echo := &v1.Echo{ObjectMeta: metav1.ObjectMeta{UID: "1", Finalizers: []string{v1.Finalizer}, ManagedFields: []metav1.ManagedFieldsEntry{
		writtenBy(metav1.ManagedFieldsOperationUpdate, ""), writtenBy(metav1.ManagedFieldsOperationUpdate, "status")}}}
	acquired := metav1.NewMicroTime(time.Unix(1000, 0))
	traces := Traces{Echo: echo, Made: map[Child]metav1.Object{}, Gone: Children(), Pods: []string{"operator-1"}, MetricsStatus: 403,
		Lease: &coordinationv1.Lease{
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("operator-1_2"), AcquireTime: &acquired,
				RenewTime: new(metav1.NewMicroTime(acquired.Add(time.Second)))}},
		Companion: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{writtenBy(metav1.ManagedFieldsOperationApply, "")}}},
		Events:    []eventsv1.Event{{ReportingController: operator, Regarding: corev1.ObjectReference{UID: echo.UID}}},
	}
	for _, child := range Children() {
		traces.Made[child] = &metav1.ObjectMeta{
			ManagedFields:   []metav1.ManagedFieldsEntry{writtenBy(metav1.ManagedFieldsOperationApply, "")},
			OwnerReferences: []metav1.OwnerReference{{UID: echo.UID, Controller: new(true), BlockOwnerDeletion: new(true)}},
		}
	}
	return traces
}

func TestEveryPermissionOfTheBundleHasATraceOrAnEntry(t *testing.T) {
	for _, problem := range Problems(listed(t), everything().Written()) {
		t.Error(problem)
	}
}

func TestATraceThatIsMissing(t *testing.T) {
	service := Children()[0]
	for name, c := range map[string]struct {
		spoil func(*Traces)
		want  []string
	}{
		"the finalizer":       {func(t *Traces) { t.Echo.Finalizers = nil }, []string{"patch echoes.example.com"}},
		"the status":          {func(t *Traces) { t.Echo.ManagedFields = t.Echo.ManagedFields[:1] }, []string{"patch echoes/status.example.com"}},
		"a child":             {func(t *Traces) { delete(t.Made, service) }, []string{"create services", "patch services"}},
		"another's child":     {func(t *Traces) { t.Made[service].SetOwnerReferences(nil) }, []string{"create services", "patch services"}},
		"another's write":     {func(t *Traces) { t.Made[service].SetManagedFields(nil) }, []string{"create services", "patch services"}},
		"a deletion":          {func(t *Traces) { t.Gone = t.Gone[1:] }, []string{"delete services"}},
		"a companion":         {func(t *Traces) { t.Companion = nil }, []string{"create pods", "patch pods", "delete pods"}},
		"another's companion": {func(t *Traces) { t.Companion.ManagedFields = nil }, []string{"create pods", "patch pods", "delete pods"}},
		"an event":            {func(t *Traces) { t.Events = nil }, []string{"create events.events.k8s.io"}},
		"another's event":     {func(t *Traces) { t.Events[0].ReportingController = "x" }, []string{"create events.events.k8s.io"}},
		"the lease":           {func(t *Traces) { t.Lease = nil }, []string{"create leases.coordination.k8s.io", "update leases.coordination.k8s.io/echo-operator.example.com"}},
		"the lease's holder":  {func(t *Traces) { t.Pods = []string{"operator"} }, []string{"create leases.coordination.k8s.io", "update leases.coordination.k8s.io/echo-operator.example.com"}},
		"the renewal":         {func(t *Traces) { t.Lease.Spec.RenewTime = t.Lease.Spec.AcquireTime }, []string{"create leases.coordination.k8s.io", "update leases.coordination.k8s.io/echo-operator.example.com"}},
		"the metrics": {func(t *Traces) { t.MetricsStatus = 401 },
			[]string{"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io"}},
	} {
		traces := everything()
		c.spoil(&traces)
		got := Problems(listed(t), traces.Written())
		slices.Sort(c.want)
		if len(got) != len(c.want) {
			t.Errorf("without %s the problems are %q, want %q", name, got, c.want)
		}
		for _, want := range c.want {
			if !slices.ContainsFunc(got, func(problem string) bool { return strings.Contains(problem, "may "+want+",") }) {
				t.Errorf("without %s the problems are %q, want %q among them", name, got, want)
			}
		}
	}
}

func TestWithoutOwnerReferencesThatBlockNobodyNeedsFinalizers(t *testing.T) {
	traces := everything()
	for _, made := range traces.Made {
		made.GetOwnerReferences()[0].BlockOwnerDeletion = nil
	}
	if got := Problems(listed(t), traces.Written()); len(got) != 1 || !strings.Contains(got[0], "update echoes/finalizers.example.com") {
		t.Errorf("the problems are %q", got)
	}
}

func TestWhatIsListedAndNeededDiffer(t *testing.T) {
	all := listed(t)
	more := append(slices.Clone(all), Permission{"", "secrets", "get", ""})
	if got := Problems(more, everything().Written()); len(got) != 1 || !strings.Contains(got[0], "may get secrets,") {
		t.Errorf("with one more, the problems are %q", got)
	}
	for i, p := range all {
		less := slices.Delete(slices.Clone(all), i, i+1)
		if got := Problems(less, everything().Written()); len(got) == 0 || !strings.Contains(got[0], "does "+p.String()+",") {
			t.Errorf("without %s, the problems are %q", p, got)
		}
	}
}

// TestLeasesAreThatOfTheOperatorAlone checks that no other rule on leases could be listed. Where the operator watches all namespaces, OLM
// grants the namespaced rules of a bundle in all of them, those of the leases of nodes and of the control plane included.
func TestLeasesAreThatOfTheOperatorAlone(t *testing.T) {
	const group = "coordination.k8s.io"
	all := listed(t)
	var leases []string
	for _, p := range all {
		if p.Group == group {
			leases = append(leases, p.String())
		}
	}
	// The API server does not know the name of an object that is created when it decides.
	want := []string{"create leases." + group}
	for _, verb := range []string{"get", "update"} {
		want = append(want, verb+" leases."+group+"/"+lease)
	}
	if !slices.Equal(leases, want) {
		t.Errorf("the bundle lists %q, want %q", leases, want)
	}
	more := slices.Concat(on(group, "leases", "get", "update", "patch", "list", "watch", "delete", "deletecollection", "*"),
		onNamed(group, "leases", "other", "get", "update"), onNamed(group, "leases", lease, "list", "watch", "patch", "delete"))
	for _, p := range more {
		got := Problems(append(slices.Clone(all), p), everything().Written())
		if len(got) != 1 || !strings.Contains(got[0], "may "+p.String()+",") {
			t.Errorf("with %s, the problems are %q", p, got)
		}
	}
}

func TestNoDangerousPermissionIsListed(t *testing.T) {
	all := listed(t)
	for _, dangerous := range Dangerous() {
		if slices.Contains(all, dangerous) {
			t.Errorf("the bundle lists %s", dangerous)
		}
	}
}
