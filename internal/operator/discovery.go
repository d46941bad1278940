// Package discovery determines which optional APIs a cluster serves, and when the operator must restart because they have changed.
//
// The package queries the cluster once a minute if an Echo requires an API that was not served when the operator started, or if a kind has
// disappeared. The operator exits when two consecutive responses show the same change, but not within ten minutes of its start. Two replicas
// never exit at the same time. When a replica becomes the leader, the package also adds objects of optional APIs, such as a ServiceMonitor.
package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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

// Kind is a kind that not every cluster serves.
type optionalKind struct {
	schema.GroupVersionKind
	// In holds the namespaces in which the operator lists the kind, or "" to list the kind in all namespaces at once. In is nil if the
	// operator does not list the kind.
	In []string
}

// Cluster determines which kinds a cluster serves.
type discoverer struct {
	apis    *discovery.DiscoveryClient
	objects metadata.Interface
}

// NewCluster returns a cluster. The timeout in the configuration applies to each request.
func newDiscoverer(config *rest.Config) (*discoverer, error) {
	apis, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	return &discoverer{apis, objects}, err
}

// Ask returns a finding for each kind. If some kinds are Unknown, the error explains why.
func (c *discoverer) Ask(ctx context.Context, kinds []optionalKind) (Offer, error) {
	offer, failures := Offer{}, []error(nil)
	for api, group := range byAPI(kinds) {
		plurals, err := c.served(ctx, api)
		for _, kind := range group {
			finding := Finding{access: NotServed}
			if plural := plurals[kind.Kind]; plural != "" {
				finding, err = c.list(ctx, kind, plural)
			}
			if err != nil {
				finding = Finding{Unknown, err.Error()}
				failures = append(failures, err)
			}
			offer[kind.GroupVersionKind] = finding
		}
	}
	return offer, errors.Join(failures...)
}

// AskUntilKnown repeats Ask, within the limits of retry, as long as the cluster gives no response about a kind. If the cluster forbids
// access to a kind, AskUntilKnown repeats Ask once, because a permission that was just granted might not be in effect yet. A kind without a
// response stays Unknown, and the error explains why.
func (c *discoverer) AskUntilKnown(ctx context.Context, kinds []optionalKind, retry wait.Backoff) (Offer, error) {
	var offer Offer
	var last error
	forbidden := false
	_ = wait.ExponentialBackoffWithContext(ctx, retry, func(ctx context.Context) (bool, error) {
		before := forbidden
		offer, last = c.Ask(ctx, kinds)
		forbidden = offer.forbids()
		return last == nil && (before || !forbidden), nil
	})
	return offer, last
}

// byAPI groups kinds by their API, so that each API requires only one request.
func byAPI(kinds []optionalKind) map[schema.GroupVersion][]optionalKind {
	groups := map[schema.GroupVersion][]optionalKind{}
	for _, kind := range kinds {
		groups[kind.GroupVersion()] = append(groups[kind.GroupVersion()], kind)
	}
	return groups
}

// served returns the kinds that the cluster serves in an API, with their resource names. It returns none if the cluster does not serve the
// API.
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

// list returns a finding about whether the operator is allowed to list a kind.
func (c *discoverer) list(ctx context.Context, kind optionalKind, plural string) (Finding, error) {
	for _, namespace := range kind.In {
		_, err := c.objects.Resource(kind.GroupVersion().WithResource(plural)).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsForbidden(err) {
			return Finding{Forbidden, err.Error()}, nil
		}
		if err != nil {
			return Finding{}, fmt.Errorf("listing the kind %s: %w", kind.Kind, err)
		}
	}
	return Finding{access: Usable}, nil
}

// Access describes whether the operator can use a kind.
type access string

// These are the possible values of Access.
const (
	Unknown   access = "unknown"
	NotServed access = "not served"
	Forbidden access = "forbidden"
	Usable    access = "usable"
)

// Finding describes what a cluster reports about a kind. Cause explains why the kind is Unknown or Forbidden.
type Finding struct {
	access
	Cause string
}

// Offer holds the findings about a cluster, by kind. An Offer never changes.
type Offer map[schema.GroupVersionKind]Finding

func (o Offer) forbids() bool {
	for _, finding := range o {
		if finding.access == Forbidden {
			return true
		}
	}
	return false
}

// Usable returns, by name, the kinds in an API that the operator can use.
func (o Offer) Usable(api schema.GroupVersion) map[string]bool {
	kinds := map[string]bool{}
	for kind, finding := range o {
		if kind.GroupVersion() == api && finding.access == Usable {
			kinds[kind.Kind] = true
		}
	}
	return kinds
}

// Refused returns, by kind name, why kinds in an API are Forbidden or Unknown.
func (o Offer) Refused(api schema.GroupVersion) map[string]string {
	causes := map[string]string{}
	for kind, finding := range o {
		if kind.GroupVersion() == api && finding.Cause != "" {
			causes[kind.Kind] = finding.Cause
		}
	}
	return causes
}

// OwnerInNamespace returns a function that finds the operator's Deployment in a namespace, if there is one.
func ownerInNamespace(live client.Reader, namespace string) func(context.Context) (*metav1.OwnerReference, error) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		deployments := &appsv1.DeploymentList{}
		err := live.List(ctx, deployments, client.InNamespace(namespace), client.Limit(1),
			client.MatchingLabels{"app.kubernetes.io/name": "echo-operator", "control-plane": "controller-manager"})
		if err != nil || len(deployments.Items) == 0 {
			return nil, err
		}
		return reference(appsv1.SchemeGroupVersion.WithKind("Deployment"), &deployments.Items[0]), nil
	}
}

func reference(kind schema.GroupVersionKind, owner client.Object) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID()}
}

// OwnerByOLM returns a function that finds the ClusterRole that OLM created for a ClusterServiceVersion, if there is one. The ClusterRole
// can own cluster-scoped objects, and OLM deletes it together with the ClusterServiceVersion.
func ownerByOLM(live client.Reader, csv, namespace string) func(context.Context) (*metav1.OwnerReference, error) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		roles := &rbacv1.ClusterRoleList{}
		err := live.List(ctx, roles, client.MatchingLabels{
			"olm.owner": csv, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace}, client.Limit(1))
		if err != nil || len(roles.Items) == 0 {
			return nil, err
		}
		return reference(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), &roles.Items[0]), nil
	}
}

// Additions are objects that the operator adds once, when it becomes the leader, if the cluster serves their API. When the operator is
// uninstalled, the objects are deleted together with their owner.
type additions struct {
	// What completes the log message "The operator could not add ...".
	What string
	// Served holds the kinds that the cluster serves in the objects' API.
	Served map[string]bool
	// Objects returns the objects without owner references.
	Objects func() ([]*unstructured.Unstructured, error)
	// Owner returns the owner of the objects. If the owner is nil, the operator adds no objects.
	Owner func(context.Context) (*metav1.OwnerReference, error)
	// Manager is the field manager. Operators that share an object use different field managers, so that each operator adds itself to the
	// owners without removing the others.
	Manager string
	Writer  client.Writer
	Log     logr.Logger
}

// retries returns a backoff that outlasts the startup of an API server.
func retries() wait.Backoff { return wait.Backoff{Duration: time.Second, Factor: 3, Steps: 5} }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (a *additions) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It always returns nil, because the operator works without these objects.
func (a *additions) Start(ctx context.Context) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, retries(), func(ctx context.Context) (bool, error) {
		last = a.add(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		a.Log.Info("The operator could not add "+a.What+".", "cause", last.Error())
	}
	return nil
}

// add applies the objects whose kinds the cluster serves.
func (a *additions) add(ctx context.Context) error {
	if len(a.Served) == 0 {
		return nil
	}
	owner, err := a.Owner(ctx)
	if err != nil || owner == nil {
		return err
	}
	objects, err := a.Objects()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !a.Served[o.GetKind()] {
			continue
		}
		o.SetOwnerReferences([]metav1.OwnerReference{*owner})
		if err := a.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.ForceOwnership,
			client.FieldOwner(a.Manager)); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
