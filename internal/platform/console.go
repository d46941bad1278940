package platform

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Console adds samples and quick starts to the OpenShift console once, when the operator becomes the leader, if the cluster has one and
// OLM installed the operator. They go with the operator: their owner is the ClusterRole that OLM creates for the operator's
// ClusterServiceVersion, and deletes with it. Several operators on a cluster own them together.
type Console struct {
	Discovery *discovery.DiscoveryClient
	Live      client.Reader
	Writer    client.Writer
	// CSV is the name of the ClusterServiceVersion, and Namespace that of the operator.
	CSV, Namespace string
	Log            logr.Logger
}

// retries returns how often the operator tries: for long enough to outlast an API server that starts. A console without samples is not
// worth more.
func retries() wait.Backoff { return wait.Backoff{Duration: time.Second, Factor: 3, Steps: 5} }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *Console) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It returns nil: a cluster without samples works as well.
func (c *Console) Start(ctx context.Context) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, retries(), func(ctx context.Context) (bool, error) {
		last = c.add(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		c.Log.Info("The console shows no samples of Echoes.", "cause", last.Error())
	}
	return nil
}

// add applies the objects of the console. It does nothing where none are served.
func (c *Console) add(ctx context.Context) error {
	served, err := c.served(ctx)
	if err != nil || len(served) == 0 {
		return err
	}
	owner, err := c.owner(ctx)
	if err != nil || owner == nil {
		return err
	}
	objects, err := ConsoleObjects()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !served[o.GetKind()] {
			continue
		}
		o.SetOwnerReferences([]metav1.OwnerReference{*owner})
		// Each operator has a field manager of its own, so that it adds itself to the owners and leaves the others.
		err := c.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.ForceOwnership, client.FieldOwner("echo-operator."+c.Namespace))
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// served returns the kinds of the console's API that the cluster serves.
func (c *Console) served(ctx context.Context) (map[string]bool, error) {
	list, err := c.Discovery.ServerResourcesForGroupVersionWithContext(ctx, consoleGroup+"/"+consoleVersion)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	kinds := map[string]bool{}
	for _, resource := range list.APIResources {
		kinds[resource.Kind] = true
	}
	return kinds, nil
}

// owner returns the ClusterRole that OLM created for the ClusterServiceVersion, nil if there is none.
func (c *Console) owner(ctx context.Context) (*metav1.OwnerReference, error) {
	roles := &rbacv1.ClusterRoleList{}
	err := c.Live.List(ctx, roles, client.MatchingLabels{
		"olm.owner": c.CSV, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": c.Namespace}, client.Limit(1))
	if err != nil || len(roles.Items) == 0 {
		return nil, err
	}
	return &metav1.OwnerReference{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: roles.Items[0].Name, UID: roles.Items[0].UID}, nil
}
