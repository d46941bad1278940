package operator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func TestOptions_selectsEveryKindThatTheOperatorCreates(t *testing.T) {
	options := cacheOptions(nil, allServed(), func() {})
	selected := 0
	for object, by := range options.ByObject {
		switch object.(type) {
		case *corev1.Node, *v1.Echo, *gatewayv1.Gateway, *unstructured.Unstructured: // the unstructured objects are PodMonitors
			continue
		}
		selected++
		if by.Label == nil || by.Label.Matches(labels.Set{}) || !by.Label.Matches(labels.Set{"app.kubernetes.io/managed-by": "echo-operator"}) {
			t.Errorf("%T is selected by %v", object, by.Label)
		}
	}
	if want := len(objects.Kinds()) + len(objects.OptionalKinds()) + 2; selected != want {
		t.Errorf("%d kinds are selected, want %d: the children, pods and CronJobs", selected, want)
	}
}

// allServed returns the kinds that the operator watches if a cluster serves all optional kinds.
func allServed() watchedKinds {
	all := watchedKinds{Served: objects.Served{objects.GatewayKind: true}, PodMonitors: true}
	for kind := range objects.OptionalKinds() {
		all.Served[kind] = true
	}
	return all
}

// TestOptions_selectsExactlyWatchedKinds checks that each watched kind has options: without options, the cache would keep all objects of
// the kind. Other kinds must not have options, because they cannot be listed if the cluster does not serve them.
func TestOptions_selectsExactlyWatchedKinds(t *testing.T) {
	for name, found := range map[string]watchedKinds{"nothing is served": {}, "all is served": allServed()} {
		var selected, watched []string
		for object := range cacheOptions(nil, found, func() {}).ByObject {
			selected = append(selected, nameOf(object))
		}
		for _, object := range found.Objects() {
			watched = append(watched, nameOf(object))
		}
		slices.Sort(selected)
		slices.Sort(watched)
		if !slices.Equal(selected, watched) {
			t.Errorf("%s: %v are selected, and %v watched", name, selected, watched)
		}
	}
}

func TestOptions_reportsKindNoLongerServed(t *testing.T) {
	missed := 0
	options := cacheOptions(nil, watchedKinds{}, func() { missed++ })
	reflector := toolscache.NewReflectorWithOptions(nil, nil, nil, toolscache.ReflectorOptions{})
	options.DefaultWatchErrorHandler(t.Context(), reflector, apierrors.NewForbidden(schema.GroupResource{}, "", nil))
	options.DefaultWatchErrorHandler(t.Context(), reflector, apierrors.NewNotFound(schema.GroupResource{}, ""))
	if missed != 1 {
		t.Errorf("missed %d times", missed)
	}
}

func TestNamespaceConfigs(t *testing.T) {
	if got := namespaceConfigs(nil); got != nil {
		t.Errorf("all namespaces: %v", got)
	}
	if diff := cmp.Diff(map[string]cache.Config{"a": {}, "b": {}}, namespaceConfigs([]string{"a", "b"})); diff != "" {
		t.Error(diff)
	}
}
