package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

// cluster is the cluster that a test examines.
type cluster struct {
	client.Client
	// token is the bearer token of the test's service account.
	token string
	// namespace is where the test creates objects.
	namespace string
	// patience is how long the test waits for a state, and period how often it polls.
	patience, period time.Duration
	// log is the log of the test.
	log strings.Builder
}

// connect returns a client for the cluster in which the pod of the test runs.
func connect(namespace string) (*cluster, error) {
	if namespace == "" {
		return nil, errors.New("SCORECARD_NAMESPACE is not set: this program must run in a pod of scorecard")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	return newCluster(config, namespace, 90*time.Second, 500*time.Millisecond)
}

func newCluster(config *rest.Config, namespace string, patience, period time.Duration) (*cluster, error) {
	config.QPS = -1                           // unlimited; the API server throttles clients itself
	config.WarningHandler = rest.NoWarnings{} // the default handler writes to stderr
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	return &cluster{Client: c, token: config.BearerToken, namespace: namespace, patience: patience, period: period}, nil
}

// logf adds a line to the log.
func (c *cluster) logf(format string, arguments ...any) {
	fmt.Fprintf(&c.log, time.Now().UTC().Format(time.TimeOnly)+" "+format+"\n", arguments...)
}

// until waits until done returns true.
func (c *cluster) until(ctx context.Context, done func(context.Context) (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, c.period, c.patience, true, done)
}

// refresh reads an Echo again. It reads into a new object, because fields that are not in the response would otherwise keep their values.
func (c *cluster) refresh(ctx context.Context, echo *v1.Echo) error {
	now := &v1.Echo{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(echo), now); err != nil {
		return err
	}
	*echo = *now
	return nil
}

// waitReady waits until an Echo is Ready.
func (c *cluster) waitReady(ctx context.Context, echo *v1.Echo) error {
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		err := c.refresh(ctx, echo)
		return err == nil && isReady(echo), err
	})
	if err != nil {
		return fmt.Errorf("the Echo %s is not Ready after %s: %s (%w)", echo.Name, c.patience, state(echo), err)
	}
	c.logf("%s is Ready with %d pods", echo.Name, echo.Status.ReadyReplicas)
	return nil
}

// remove deletes Echoes and waits until they are deleted, even if ctx is cancelled.
func (c *cluster) remove(ctx context.Context, echoes ...*v1.Echo) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for _, echo := range echoes {
		failed = append(failed, client.IgnoreNotFound(c.Delete(ctx, echo)))
	}
	for _, echo := range echoes {
		gone := func(ctx context.Context) (bool, error) { return isNotFound(c.refresh(ctx, echo)) }
		if err := c.until(ctx, gone); err != nil {
			failed = append(failed, fmt.Errorf("the Echo %s still exists %s after its deletion: %w", echo.Name, c.patience, err))
			continue
		}
		c.logf("%s is deleted", echo.Name)
	}
	return errors.Join(failed...)
}

// isNotFound reports whether err is NotFound, and returns any other error.
func isNotFound(err error) (bool, error) {
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// operator returns the pods of the operator in all namespaces.
func (c *cluster) operator(ctx context.Context, b bundle.Bundle) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	for _, deployment := range b.CSV.Spec.Install.Spec.Deployments {
		selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
		if err != nil {
			return nil, err
		}
		list := &corev1.PodList{}
		if err := c.List(ctx, list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return nil, err
		}
		if len(list.Items) == 0 {
			return nil, fmt.Errorf("the operator is not installed: no pod has the labels %s", selector)
		}
		pods = append(pods, list.Items...)
	}
	return pods, nil
}
