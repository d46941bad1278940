package operator

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// allServed returns the kinds that the operator watches if a cluster serves all optional kinds.
func allServed() watchedKinds {
	all := watchedKinds{served: objects.Served{objects.GatewayKind: true}, podMonitors: true}
	for _, kind := range objects.Table() {
		all.served[kind.Kind] = true
	}
	return all
}

// TestCacheOptions_selectsExactlyWatchedKinds checks that each kind to watch has options: without options, the cache would keep all objects of
// the kind. Other kinds must not have options, because they cannot be listed if the cluster does not serve them. The cache keeps only
// objects that the operator created.
func TestCacheOptions_selectsExactlyWatchedKinds(t *testing.T) {
	for name, found := range map[string]watchedKinds{"nothing is served": {}, "all is served": allServed()} {
		var selected, watched []string
		for object, by := range cacheOptions(nil, found, func() {}).ByObject {
			selected = append(selected, nameOf(object))
			switch object.(type) {
			case *corev1.Node, *v1.Echo, *gatewayv1.Gateway, *unstructured.Unstructured: // the unstructured objects are PodMonitors
				continue
			}
			if by.Label == nil || by.Label.Matches(labels.Set{}) || !by.Label.Matches(labels.Set{"app.kubernetes.io/managed-by": "echo-operator"}) {
				t.Errorf("%T is selected by %v", object, by.Label)
			}
		}
		kinds := append(objects.Kinds(found.served), objects.NewCronJob(), &v1.Echo{}, &corev1.Pod{}, &corev1.Node{})
		if found.podMonitors {
			kinds = append(kinds, &gatewayv1.Gateway{}, objects.NewPodMonitor())
		}
		for _, object := range kinds {
			watched = append(watched, nameOf(object))
		}
		slices.Sort(selected)
		slices.Sort(watched)
		NewWithT(t).Expect(selected).To(HaveExactElements(watched), name)
	}
}

func TestCacheOptions_reportsKindNoLongerServed(t *testing.T) {
	missed := 0
	options := cacheOptions(nil, watchedKinds{}, func() { missed++ })
	reflector := toolscache.NewReflectorWithOptions(nil, nil, nil, toolscache.ReflectorOptions{})
	options.DefaultWatchErrorHandler(t.Context(), reflector, apierrors.NewForbidden(schema.GroupResource{}, "", nil))
	options.DefaultWatchErrorHandler(t.Context(), reflector, apierrors.NewNotFound(schema.GroupResource{}, ""))
	if missed != 1 {
		t.Errorf("missed %d times", missed)
	}
}

// informer is a fake informer that only reports whether it has synced.
type informer struct {
	cache.Informer
	filled bool
}

// HasSynced implements cache.Informer.
func (i *informer) HasSynced() bool { return i.filled }

func TestInformers_readyWhenAllFilled(t *testing.T) {
	g := NewWithT(t)
	echoes, pods, nodes := &informer{}, &informer{}, &informer{filled: true}
	all := informers{"v1.Pod": pods, "v1.Echo": echoes, "v1.Node": nodes}
	g.Expect(all.check(nil)).To(MatchError(HaveSuffix("v1.Echo, v1.Pod")), "two are not filled")
	echoes.filled = true
	g.Expect(all.check(nil)).To(MatchError(HaveSuffix(": v1.Pod")), "one is not filled")
	pods.filled = true
	g.Expect(all.check(nil)).To(Succeed())
	g.Expect(all.pending()).To(BeEmpty())
}

func TestNewLabeledPods_selectsByLabel(t *testing.T) {
	g := NewWithT(t)
	asked, discovery := make(chan string, 1), map[string]string{
		"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		if response, ok := discovery[r.URL.Path]; ok {
			_, _ = out.Write([]byte(response))
			return
		}
		select {
		case asked <- r.URL.Path + " " + r.URL.Query().Get("labelSelector"):
		default:
		}
		http.NotFound(out, r)
	}))
	defer server.Close()
	mgr, err := ctrl.NewManager(&rest.Config{Host: server.URL}, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	pods, err := newLabeledPods(mgr, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect((managedCache{pods}).GetCache()).To(Equal(pods))
	go func() { _ = pods.Start(t.Context()) }()
	go func() { _, _ = pods.GetInformer(t.Context(), &corev1.Pod{}) }()
	g.Expect(<-asked).To(Equal("/api/v1/namespaces/a/pods " + v1.CompanionLabel))
}
