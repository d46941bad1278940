package reliability

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gateways "sigs.k8s.io/gateway-api/applyconfiguration"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// kind describes a kind that the simulated API server serves.
type kind struct {
	group, version, kind string
	// cluster is true if the kind is cluster-scoped.
	cluster bool
	// custom is true if no client applies objects of the kind, so their managed fields are not tracked.
	custom bool
	// fields returns the field manager for the kind.
	fields func() *managedfields.FieldManager
}

// kinds contains the kinds that the simulated API server serves, by resource.
var kinds = servedKinds()

func servedKinds() map[string]kind {
	all := map[string]kind{
		"echoes":     {group: "example.com", version: "v1", kind: "Echo", custom: true},
		"pods":       builtIn(corev1.SchemeGroupVersion.WithKind("Pod")),
		"httproutes": ofGatewayAPI("HTTPRoute"),
		"gateways":   {group: gatewayv1.GroupName, version: "v1", kind: "Gateway", custom: true},
		"nodes":      {version: "v1", kind: "Node", cluster: true, custom: true},
		"events":     {group: "events.k8s.io", version: "v1", kind: "Event", custom: true},
	}
	for _, k := range objects.Table() {
		if !k.Optional {
			all[k.Resource().Resource] = builtIn(k.GroupVersionKind)
		}
	}
	return all
}

// typeConverter contains the schemas of the kinds that are built into Kubernetes.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(clientgoscheme.Scheme) })

func builtIn(of schema.GroupVersionKind) kind {
	k := kind{group: of.Group, version: of.Version, kind: of.Kind}
	k.fields = sync.OnceValue(func() *managedfields.FieldManager {
		return managedfieldstest.NewFakeFieldManager(typeConverter(), k.gvk())
	})
	return k
}

// ofGatewayAPI returns a Gateway API kind. A cluster serves the kind only if another client has installed it.
func ofGatewayAPI(name string) kind {
	k := kind{group: gatewayv1.GroupName, version: "v1", kind: name}
	k.fields = sync.OnceValue(func() *managedfields.FieldManager {
		known := runtime.NewScheme()
		utilruntime.Must(gatewayv1.Install(known))
		return managedfieldstest.NewFakeFieldManager(gateways.NewTypeConverter(known), k.gvk())
	})
	return k
}

func (k kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind}
}

func (k kind) groupResource(resource string) schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: resource}
}

// replace returns the object that the API server stores after a client updates an object or its status.
func (k kind) replace(live, after *unstructured.Unstructured, part, manager string) (*unstructured.Unstructured, error) {
	stored := live.DeepCopy()
	if part == "status" {
		stored.Object["status"] = after.Object["status"]
		return stored, nil
	}
	stored.Object = after.DeepCopy().Object
	if status, found := live.Object["status"]; found {
		stored.Object["status"] = status
	}
	if k.custom {
		stored.SetManagedFields(nil)
		return stored, nil
	}
	tracked, err := k.fields().Update(live, stored, manager)
	if err != nil {
		return nil, err
	}
	return tracked.(*unstructured.Unstructured), nil
}

// serves reports whether the simulated API server serves a kind in the scenario.
func (c scenario) serves(k kind) bool { return k.group != gatewayv1.GroupName || c.gateways }

// apiResources returns the discovery response for a group and version.
func (c scenario) apiResources(group, version string) metav1.APIResourceList {
	list := metav1.APIResourceList{Kind: "APIResourceList", APIVersion: "v1",
		GroupVersion: schema.GroupVersion{Group: group, Version: version}.String()}
	for resource, k := range kinds {
		if k.group == group && k.version == version && c.serves(k) {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource, Namespaced: !k.cluster, Kind: k.kind,
				Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "watch"}})
		}
	}
	return list
}

// apiGroups returns the discovery response for the groups.
func (c scenario) apiGroups() metav1.APIGroupList {
	list, seen := metav1.APIGroupList{Kind: "APIGroupList", APIVersion: "v1"}, map[string]bool{"": true}
	for _, k := range kinds {
		if !seen[k.group] && c.serves(k) {
			seen[k.group] = true
			version := metav1.GroupVersionForDiscovery{GroupVersion: k.group + "/" + k.version, Version: k.version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: k.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
	}
	return list
}

// validate rejects the only type of invalid object that the operator might send: a Service in which two ports have the same name.
func (k kind) validate(o *unstructured.Unstructured) error {
	if k.kind != "Service" {
		return nil
	}
	names := map[string]bool{}
	for _, port := range typed(o, &corev1.Service{}).Spec.Ports {
		if names[port.Name] {
			return apierrors.NewInvalid(k.gvk().GroupKind(), o.GetName(), field.ErrorList{field.Duplicate(field.NewPath("spec", "ports").Child("name"), port.Name)})
		}
		names[port.Name] = true
	}
	return nil
}
