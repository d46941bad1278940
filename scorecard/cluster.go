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

// cluster is the cluster that a test looks at.
type cluster struct {
	client.Client
	// token is who the test is.
	token string
	// namespace is where the test makes what it needs.
	namespace string
	// patience is how long the test waits for anything, and period how often it looks.
	patience, period time.Duration
	// log tells the course of the test.
	log strings.Builder
}

// connect reaches the cluster in which the test's pod runs.
func connect(namespace string) (*cluster, error) {
	if namespace == "" {
		return nil, errors.New("SCORECARD_NAMESPACE is not set: this runs in a pod of scorecard's")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	return newCluster(config, namespace, 90*time.Second, 500*time.Millisecond)
}

func newCluster(config *rest.Config, namespace string, patience, period time.Duration) (*cluster, error) {
	config.QPS = -1                           // the API server has its own ways to slow clients down
	config.WarningHandler = rest.NoWarnings{} // they would go to stderr
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

// tell adds a line to the log.
func (c *cluster) tell(format string, arguments ...any) {
	fmt.Fprintf(&c.log, time.Now().UTC().Format(time.TimeOnly)+" "+format+"\n", arguments...)
}

// until waits for something.
func (c *cluster) until(ctx context.Context, done func(context.Context) (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, c.period, c.patience, true, done)
}

// refresh reads an Echo anew. What is not in the answer any more would stay, were it read into the old one.
func (c *cluster) refresh(ctx context.Context, echo *v1.Echo) error {
	now := &v1.Echo{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(echo), now); err != nil {
		return err
	}
	*echo = *now
	return nil
}

// waitReady waits until an Echo is as it is wanted.
func (c *cluster) waitReady(ctx context.Context, echo *v1.Echo) error {
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		err := c.refresh(ctx, echo)
		return err == nil && isReady(echo), err
	})
	if err != nil {
		return fmt.Errorf("the Echo %s is not Ready after %s: %s (%w)", echo.Name, c.patience, state(echo), err)
	}
	c.tell("%s is Ready with %d pods", echo.Name, echo.Status.ReadyReplicas)
	return nil
}

// remove deletes Echoes and waits until they are gone, even when the test was told to end.
func (c *cluster) remove(ctx context.Context, echoes ...*v1.Echo) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for _, echo := range echoes {
		failed = append(failed, client.IgnoreNotFound(c.Delete(ctx, echo)))
	}
	for _, echo := range echoes {
		gone := func(ctx context.Context) (bool, error) { return isNotFound(c.refresh(ctx, echo)) }
		if err := c.until(ctx, gone); err != nil {
			failed = append(failed, fmt.Errorf("the Echo %s was deleted and is not gone after %s: %w", echo.Name, c.patience, err))
			continue
		}
		c.tell("%s is gone", echo.Name)
	}
	return errors.Join(failed...)
}

// isNotFound tells an absence from other errors.
func isNotFound(err error) (bool, error) {
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// operator finds the pods of the operator, wherever they run.
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
			return nil, fmt.Errorf("the operator is not in the cluster: no pod has the labels %s", selector)
		}
		pods = append(pods, list.Items...)
	}
	return pods, nil
}
