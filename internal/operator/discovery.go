package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// optionalKind is a kind that not every cluster serves.
type optionalKind struct {
	schema.GroupVersionKind
	// in holds the namespaces in which the operator lists the kind, or "" to list the kind in all namespaces at once. It is nil if the
	// operator does not list the kind.
	in []string
}

type discoverer struct {
	apis    *discovery.DiscoveryClient
	objects metadata.Interface
}

// newDiscoverer returns the discoverer of a cluster. The timeout in the configuration applies to each request.
func newDiscoverer(config *rest.Config) (*discoverer, error) {
	apis, noAPIs := discovery.NewDiscoveryClientForConfig(config)
	objects, noObjects := metadata.NewForConfig(config)
	return &discoverer{apis, objects}, cmp.Or(noAPIs, noObjects)
}

// askUntilKnown repeats ask, within the limits of retry, as long as the cluster gives no response about a kind. If the cluster forbids
// access to a kind, askUntilKnown repeats ask once, because a permission that was just granted might not be in effect yet. A kind without a
// response stays unknown, and the error explains why.
func (c *discoverer) askUntilKnown(ctx context.Context, kinds []optionalKind, retry wait.Backoff) (findings, error) {
	var found findings
	var last error
	isForbidden := false
	_ = wait.ExponentialBackoffWithContext(ctx, retry, func(ctx context.Context) (bool, error) {
		before := isForbidden
		found, last = c.ask(ctx, kinds)
		isForbidden = slices.ContainsFunc(slices.Collect(maps.Values(found)), func(f finding) bool { return f.access == forbidden })
		return last == nil && (before || !isForbidden), nil
	})
	return found, last
}

// ask returns a finding for each kind. If some kinds are unknown, the error explains why.
func (c *discoverer) ask(ctx context.Context, kinds []optionalKind) (findings, error) {
	groups := map[schema.GroupVersion][]optionalKind{} // each API requires only one request
	for _, kind := range kinds {
		groups[kind.GroupVersion()] = append(groups[kind.GroupVersion()], kind)
	}
	all, failures := findings{}, []error(nil)
	for api, group := range groups {
		plurals, err := c.served(ctx, api)
		for _, kind := range group {
			found, failure := finding{access: notServed}, err
			if plural := plurals[kind.Kind]; plural != "" {
				found, failure = c.list(ctx, kind, plural)
			}
			if failure != nil {
				found = finding{unknown, failure.Error()}
				failures = append(failures, failure)
			}
			all[kind.GroupVersionKind] = found
		}
	}
	return all, errors.Join(failures...)
}

// served returns the kinds that the cluster serves in an API, with their resource names. Without the API, it returns none.
func (c *discoverer) served(ctx context.Context, api schema.GroupVersion) (map[string]string, error) {
	list, err := c.apis.ServerResourcesForGroupVersionWithContext(ctx, api.String())
	if apierrors.IsNotFound(err) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking whether the cluster serves %s: %w", api, err)
	}
	plurals := map[string]string{}
	for _, resource := range list.APIResources {
		if _, known := plurals[resource.Kind]; !known { // subresources of the same kind come later in the list
			plurals[resource.Kind] = resource.Name
		}
	}
	return plurals, nil
}

func (c *discoverer) list(ctx context.Context, kind optionalKind, plural string) (finding, error) {
	for _, namespace := range kind.in {
		_, err := c.objects.Resource(kind.GroupVersion().WithResource(plural)).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsForbidden(err) {
			return finding{forbidden, err.Error()}, nil
		}
		if err != nil {
			return finding{}, fmt.Errorf("listing the kind %s: %w", kind.Kind, err)
		}
	}
	return finding{access: usable}, nil
}

type access string

const (
	unknown   access = "unknown"
	notServed access = "not served"
	forbidden access = "forbidden"
	usable    access = "usable"
)

// finding describes what a cluster reports about a kind. cause explains why the kind is unknown or forbidden.
type finding struct {
	access
	cause string
}

// findings holds the findings about a cluster, by kind. It never changes.
type findings map[schema.GroupVersionKind]finding

// usable returns, by name, the kinds in an API that the operator can use.
func (f findings) usable(api schema.GroupVersion) map[string]bool {
	kinds := map[string]bool{}
	for kind, found := range f {
		if kind.GroupVersion() == api && found.access == usable {
			kinds[kind.Kind] = true
		}
	}
	return kinds
}

// refused returns, by kind name, why kinds in an API are forbidden or unknown.
func (f findings) refused(api schema.GroupVersion) map[string]string {
	causes := map[string]string{}
	for kind, found := range f {
		if kind.GroupVersion() == api && found.cause != "" {
			causes[kind.Kind] = found.cause
		}
	}
	return causes
}

// additions are objects that the operator adds once, when it becomes the leader, if the cluster serves their API. When the operator is
// uninstalled, the objects are deleted together with their owner.
type additions struct {
	// what completes the log message "The operator could not add ...".
	what string
	// served holds the kinds that the cluster serves in the objects' API.
	served map[string]bool
	// objects returns the objects without owner references.
	objects func() ([]*unstructured.Unstructured, error)
	// owner is the kind of the objects' owner, which the options select. If there is no such owner, the operator adds no objects.
	owner   schema.GroupVersionKind
	options []client.ListOption
	// manager is the field manager. Operators that share an object use different field managers, so that each operator adds itself to the
	// owners without removing the others.
	manager  string
	operator *Operator
	log      logr.Logger
}

// Start implements manager.Runnable, which runs only on the leader. It always returns nil, because the operator works without these objects.
func (a *additions) Start(ctx context.Context) error {
	var last error
	retry := wait.Backoff{Duration: time.Second, Factor: 3, Steps: 5} // it outlasts the startup of an API server
	err := wait.ExponentialBackoffWithContext(ctx, retry, func(ctx context.Context) (bool, error) {
		last = a.add(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		a.log.Info("The operator could not add "+a.what+".", "cause", last.Error())
	}
	return nil
}

func (a *additions) add(ctx context.Context) error {
	if len(a.served) == 0 {
		return nil
	}
	owners := &metav1.PartialObjectMetadataList{}
	owners.SetGroupVersionKind(a.owner)
	if err := a.operator.GetAPIReader().List(ctx, owners, a.options...); err != nil || len(owners.Items) == 0 {
		return err
	}
	owner := metav1.OwnerReference{
		APIVersion: a.owner.GroupVersion().String(), Kind: a.owner.Kind, Name: owners.Items[0].Name, UID: owners.Items[0].UID}
	objects, err := a.objects()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !a.served[o.GetKind()] {
			continue
		}
		o.SetOwnerReferences([]metav1.OwnerReference{owner})
		if err := a.operator.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.ForceOwnership,
			client.FieldOwner(a.manager)); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
