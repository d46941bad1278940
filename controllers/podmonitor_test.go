package controllers

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func monitored(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: new(true)} }

// podMonitor returns an Echo's PodMonitor as the API server would store it.
func podMonitor(changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	object := objects.PodMonitor(StoredEcho(monitored)).Desired
	object.SetUID("monitor-uid")
	for _, change := range changes {
		change(object)
	}
	return object
}

func TestPodMonitorReconciler(t *testing.T) {
	foreign := func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }
	unlabeled := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	wanted, unwanted, paused := StoredEcho(monitored), StoredEcho(), func(e *v1.Echo) { e.Spec.Paused = true }
	own, others := []client.Object{podMonitor()}, []client.Object{podMonitor(foreign)}
	applied := []string{"apply Unstructured"}
	for name, c := range map[string]struct {
		echo         *v1.Echo
		cached, live []client.Object
		writes       []string
		event        string
	}{
		"it is missing":                   {wanted, nil, nil, applied, ""},
		"it is there":                     {wanted, own, own, nil, ""},
		"it lost its labels":              {wanted, nil, []client.Object{podMonitor(unlabeled)}, applied, ""},
		"it is no longer desired":         {unwanted, own, own, []string{"delete x"}, ""},
		"it was never desired":            {unwanted, nil, nil, nil, ""},
		"another client has the name":     {wanted, nil, others, nil, "Warning NotMonitored"},
		"a foreign one, none desired":     {unwanted, others, others, nil, ""},
		"the Echo is paused":              {StoredEcho(monitored, paused), nil, nil, nil, ""},
		"the Echo is paused, not desired": {StoredEcho(paused), own, own, nil, ""},
		"the Echo is being deleted":       {StoredEcho(monitored, func(e *v1.Echo) { e.DeletionTimestamp = new(metav1.Now()) }), nil, nil, nil, ""},
	} {
		w := NewLate(t, append(c.cached, c.echo), append(c.live, c.echo))
		r := &PodMonitorReconciler{Dependencies: w.Dependencies, Cached: w.Cache}
		for range 2 {
			_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c.echo)}) // a foreign object causes an error
			if c.event == "" {
				break
			}
		}
		NewWithT(t).Expect(w.Writes).To(HaveExactElements(c.writes), name)
		if events := w.Events(); c.event == "" && len(events) > 0 || c.event != "" && (len(events) != 1 ||
			!strings.HasPrefix(events[0], c.event)) {
			t.Errorf("%s: the events are %q, want one of %q", name, events, c.event)
		}
	}
}

func TestComparePodMonitor_findsExtraMetadataOfOperator(t *testing.T) {
	child := objects.PodMonitor(StoredEcho(monitored))
	const wanted = `{"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}}},"f:spec":{"f:jobLabel":{}}}`
	const label, annotation = `{"f:metadata":{"f:labels":{"f:extra":{}}}}`, `{"f:metadata":{"f:annotations":{"f:extra":{}}}}`
	for name, c := range map[string]struct {
		manager, owned string
		same           bool
	}{
		"only desired fields":         {objects.FieldOwner, wanted, true},
		"a label":                     {objects.FieldOwner, label, false},
		"an annotation":               {objects.FieldOwner, annotation, false},
		"another client's label":      {"other", label, true},
		"another client's annotation": {"other", annotation, true},
	} {
		live := podMonitor(func(o *unstructured.Unstructured) {
			o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{"extra": "a"}))
			o.SetAnnotations(labels.Set{"extra": "a"})
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: c.manager, Operation: metav1.ManagedFieldsOperationApply,
				FieldsV1: metav1.NewFieldsV1(c.owned)}})
		})
		difference, err := comparePodMonitor(child, live)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		NewWithT(t).Expect(difference.None).To(Equal(c.same), name)
	}
}
