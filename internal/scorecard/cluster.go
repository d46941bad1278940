package scorecard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// patience is how long a test waits for a state, and period is the time between two polls.
const patience, period = 90 * time.Second, 500 * time.Millisecond

type cluster struct {
	client.Client
	namespace string          // of the Echoes that the test creates
	log       strings.Builder // of the test
}

func (c *cluster) connect() error {
	config, err := rest.InClusterConfig()
	scheme, noScheme := newScheme()
	if err := cmp.Or(err, noScheme); err != nil {
		return err
	}
	config.QPS = -1 // unlimited; the API server throttles clients itself
	c.Client, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme))
}

func (c *cluster) logf(format string, arguments ...any) {
	fmt.Fprintf(&c.log, time.Now().UTC().Format(time.TimeOnly)+" "+format+"\n", arguments...)
}

func (c *cluster) operator(ctx context.Context, b Bundle) ([]corev1.Pod, error) {
	labels := client.MatchingLabels(b.Deployments[0].Spec.Selector.MatchLabels)
	list := &corev1.PodList{}
	if err := c.List(ctx, list, labels); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("the operator is not installed: no pod has the labels %v", labels)
	}
	return list.Items, nil
}

// examples tests that the API server accepts every example in the bundle, and that each example becomes Ready and can be deleted.
func (c *cluster) examples(ctx context.Context, b Bundle) []string {
	var created, problems []string
	report := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	for _, example := range b.Examples {
		echo := example.DeepCopy()
		echo.SetNamespace(c.namespace)
		echo.SetGenerateName("scorecard-" + example.GetName() + "-")
		echo.SetName("")
		if err := c.Create(ctx, echo, client.FieldValidation("Strict")); err != nil { // the API server may not know a field
			report(fmt.Errorf("example %s: %w", example.GetName(), err))
			continue
		}
		c.logf("created example %s as %s", example.GetName(), echo.GetName())
		created = append(created, echo.GetName())
	}
	for _, name := range created {
		report(c.waitReady(ctx, name))
	}
	report(c.remove(ctx, created...))
	return problems
}

func (c *cluster) waitReady(ctx context.Context, name string) error {
	echo := &v1.Echo{}
	err := wait.PollUntilContextTimeout(ctx, period, patience, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, echo)
		return meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady), err
	})
	if err != nil {
		why := cmp.Or(echo.Status.Message, "it has no status; check that the operator watches its namespace")
		return fmt.Errorf("the Echo %s is not Ready after %s: %s (%w)", name, patience, why, err)
	}
	c.logf("%s is Ready with %d pods", name, echo.Status.ReadyReplicas)
	return nil
}

// remove deletes Echoes and waits until they are gone, even if ctx is canceled.
func (c *cluster) remove(ctx context.Context, names ...string) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for _, name := range names {
		failed = append(failed, client.IgnoreNotFound(c.Delete(ctx, &v1.Echo{Namespace: c.namespace, Name: name})))
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

// restricted tests the operator's pods, and the pods of an Echo with default settings. These pods must comply with the restricted Pod
// Security Standard, OpenShift's additional requirements, and best practices.
func (c *cluster) restricted(ctx context.Context, b Bundle) ([]string, error) {
	pods, err := c.operator(ctx, b)
	evaluator, noPolicy := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err := cmp.Or(err, noPolicy); err != nil {
		return nil, err
	}
	served, err := c.podsOfAnEcho(ctx)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, pod := range append(pods, served...) {
		for _, problem := range podProblems(evaluator, &pod) {
			problems = append(problems, fmt.Sprintf("pod %s/%s %s", pod.Namespace, pod.Name, problem))
		}
	}
	return problems, nil
}

// podsOfAnEcho creates an Echo with one replica and otherwise default settings, returns the Echo's pods, and deletes the Echo.
func (c *cluster) podsOfAnEcho(ctx context.Context) ([]corev1.Pod, error) {
	echo := &v1.Echo{Namespace: c.namespace, GenerateName: "scorecard-plain-", Spec: v1.EchoSpec{Replicas: new(int32(1))}}
	if err := c.Create(ctx, echo); err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	labels := client.MatchingLabels{"app.kubernetes.io/managed-by": "echo-operator", "app.kubernetes.io/instance": echo.Name}
	err := c.waitReady(ctx, echo.Name)
	if err == nil {
		err = c.List(ctx, list, client.InNamespace(echo.Namespace), labels)
	}
	if err == nil && len(list.Items) == 0 {
		err = fmt.Errorf("the Echo %s is Ready and has no pods", echo.Name)
	}
	return list.Items, errors.Join(err, c.remove(ctx, echo.Name))
}

func podProblems(evaluator policy.Evaluator, pod *corev1.Pod) []string {
	var problems []string
	strictest := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(strictest, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		problems = append(problems, "is not restricted: "+result.ForbiddenDetail())
	}
	_, isChosen := pod.Annotations["openshift.io/scc"] // OpenShift sets the user, and rejects any other user
	if context := pod.Spec.SecurityContext; !isChosen && context != nil && context.RunAsUser != nil {
		problems = append(problems, "has a fixed user")
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		report := func(problem string) { problems = append(problems, "container "+container.Name+" "+problem) }
		context := cmp.Or(container.SecurityContext, &corev1.SecurityContext{})
		if !isChosen && context.RunAsUser != nil {
			report("has a fixed user")
		}
		if root := context.ReadOnlyRootFilesystem; root == nil || !*root {
			report("can write to its root file system")
		}
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if request := container.Resources.Requests[resource]; request.IsZero() {
				report("requests no " + string(resource))
			}
		}
	}
	return problems
}
