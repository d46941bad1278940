package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
