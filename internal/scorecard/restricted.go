package scorecard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

// restricted tests the operator's pods, and the pods of an Echo with default settings. These pods must comply with the restricted Pod
// Security Standard, OpenShift's additional requirements, and best practices.
func (c *cluster) restricted(ctx context.Context, b bundle.Bundle) ([]string, error) {
	pods, err := c.operator(ctx, b)
	if err != nil {
		return nil, err
	}
	served, err := c.podsOfAnEcho(ctx)
	if err != nil {
		return nil, err
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, pod := range append(pods, served...) {
		found := podProblems(evaluator, &pod)
		c.logf("pod %s/%s: %d problems", pod.Namespace, pod.Name, len(found))
		for _, problem := range found {
			problems = append(problems, fmt.Sprintf("pod %s/%s %s", pod.Namespace, pod.Name, problem))
		}
	}
	return problems, nil
}

// podsOfAnEcho creates an Echo with one replica and otherwise default settings, returns the Echo's pods, and deletes the Echo.
func (c *cluster) podsOfAnEcho(ctx context.Context) ([]corev1.Pod, error) {
	echo := &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: prefix + "plain-"}, Spec: v1.EchoSpec{Replicas: new(int32(1))}}
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
		for _, problem := range containerProblems(&container, isChosen) {
			problems = append(problems, fmt.Sprintf("container %s %s", container.Name, problem))
		}
	}
	return problems
}

func containerProblems(container *corev1.Container, isUserChosen bool) []string {
	var problems []string
	context := container.SecurityContext
	if !isUserChosen && context != nil && context.RunAsUser != nil {
		problems = append(problems, "has a fixed user")
	}
	if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
		problems = append(problems, "can write to its root file system")
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if request := container.Resources.Requests[resource]; request.IsZero() {
			problems = append(problems, fmt.Sprintf("requests no %s", resource))
		}
	}
	return problems
}
