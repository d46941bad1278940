package scorecard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

const (
	// patience is how long a test waits for a state, and period is the time between two polls.
	patience, period = 90 * time.Second, 500 * time.Millisecond
	// prefix is the beginning of the name of each Echo that the tests create.
	prefix = "scorecard-"
)

// cluster is the cluster that a test examines.
type cluster struct {
	client.Client
	// namespace is the namespace in which the test creates Echoes.
	namespace string
	// log holds the log output of the test.
	log strings.Builder
}

// connect returns a client for the cluster in which the test's pod runs.
func connect(namespace string) (*cluster, error) {
	if namespace == "" {
		return nil, errors.New("SCORECARD_NAMESPACE is not set: this program must run in a scorecard pod")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // unlimited; the API server throttles clients itself
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return &cluster{Client: c, namespace: namespace}, err
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme))
}

func (c *cluster) logf(format string, arguments ...any) {
	fmt.Fprintf(&c.log, time.Now().UTC().Format(time.TimeOnly)+" "+format+"\n", arguments...)
}

// operator returns the operator's pods in all namespaces.
func (c *cluster) operator(ctx context.Context, b bundle.Bundle) ([]corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.CSV.Spec.Install.Spec.Deployments[0].Spec.Selector)
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
	return list.Items, nil
}

func (c *cluster) waitReady(ctx context.Context, name string) error {
	var echo *v1.Echo
	err := wait.PollUntilContextTimeout(ctx, period, patience, true, func(ctx context.Context) (bool, error) {
		echo = &v1.Echo{}
		err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, echo)
		return err == nil && isReady(echo), err
	})
	if err != nil {
		return fmt.Errorf("the Echo %s is not Ready after %s: %s (%w)", name, patience, state(echo), err)
	}
	c.logf("%s is Ready with %d pods", name, echo.Status.ReadyReplicas)
	return nil
}

// remove deletes Echoes and waits until they are gone, even if ctx is canceled.
func (c *cluster) remove(ctx context.Context, names ...string) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for _, name := range names {
		failed = append(failed, client.IgnoreNotFound(c.Delete(ctx, &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}})))
	}
	for _, name := range names {
		err := wait.PollUntilContextTimeout(ctx, period, patience, true, func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &v1.Echo{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("the Echo %s still exists %s after its deletion: %w", name, patience, err))
		}
	}
	return errors.Join(failed...)
}

// isReady reports whether the current generation of an Echo is Ready.
func isReady(echo *v1.Echo) bool {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == echo.Generation
}

// state returns an Echo's Ready condition as text.
func state(echo *v1.Echo) string {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	if ready == nil {
		return "it has no condition; check that the operator watches its namespace"
	}
	return fmt.Sprintf("generation %d of %d, %s: %s", ready.ObservedGeneration, echo.Generation, ready.Reason, ready.Message)
}
