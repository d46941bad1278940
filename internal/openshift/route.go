package openshift

import "k8s.io/apimachinery/pkg/runtime/schema"

// RouteKind returns the kind of the Routes that OpenShift creates for Ingresses (github.com/openshift/api/route/v1).
func RouteKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}
}
