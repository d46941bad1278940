// Package restricted checks that pods comply with the restricted Pod Security Standard, with the additional requirements of OpenShift, and
// with best practices.
package restricted

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// Problems returns the problems of a pod.
func Problems(pod *corev1.Pod) ([]string, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	var problems []string
	strictest := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(strictest, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		problems = append(problems, "is not restricted: "+result.ForbiddenDetail())
	}
	if _, chosen := pod.Annotations["openshift.io/scc"]; !chosen { // OpenShift sets the user itself
		problems = append(problems, fixedUser(&pod.Spec)...)
	}
	for _, container := range containers(&pod.Spec) {
		problems = append(problems, containerProblems(container)...)
	}
	return problems, nil
}

func containers(spec *corev1.PodSpec) []corev1.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// fixedUser returns where the pod sets a user, which OpenShift rejects.
func fixedUser(spec *corev1.PodSpec) []string {
	var problems []string
	if spec.SecurityContext != nil && spec.SecurityContext.RunAsUser != nil {
		problems = append(problems, "has a fixed user")
	}
	for _, container := range containers(spec) {
		if container.SecurityContext != nil && container.SecurityContext.RunAsUser != nil {
			problems = append(problems, fmt.Sprintf("container %s has a fixed user", container.Name))
		}
	}
	return problems
}

func containerProblems(container corev1.Container) []string {
	var problems []string
	context := container.SecurityContext
	if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
		problems = append(problems, fmt.Sprintf("container %s can write to its root file system", container.Name))
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if request := container.Resources.Requests[resource]; request.IsZero() {
			problems = append(problems, fmt.Sprintf("container %s requests no %s", container.Name, resource))
		}
	}
	return problems
}
