package watch

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// kind is a kind of object that can be watched.
type kind struct {
	name       string // as written on the command line
	kind       string
	resource   schema.GroupVersionResource
	namespaced bool
	// summary returns the state of an object in a few words.
	summary func(object map[string]any) string
}

func kinds() []kind {
	return []kind{
		{"pods", "Pod", corev1.SchemeGroupVersion.WithResource("pods"), true, podSummary},
		{"nodes", "Node", corev1.SchemeGroupVersion.WithResource("nodes"), false, nodeSummary},
		{"deployments", "Deployment", appsv1.SchemeGroupVersion.WithResource("deployments"), true, deploymentSummary},
		{"echoes", "Echo", v1.GroupVersion.WithResource("echoes"), true, echoSummary},
	}
}

// KindNames returns the names of the kinds that can be watched.
func KindNames(separator string) string {
	all := make([]string, 0, len(kinds()))
	for _, k := range kinds() {
		all = append(all, k.name)
	}
	return strings.Join(all, separator)
}

// kindOf returns the kind that the arguments name, or an error if they do not name exactly one kind.
func kindOf(arguments []string) (kind, error) {
	for _, k := range kinds() {
		if len(arguments) == 1 && arguments[0] == k.name {
			return k, nil
		}
	}
	said := "nothing"
	if len(arguments) > 0 {
		said = strconv.Quote(strings.Join(arguments, " "))
	}
	return kind{}, fmt.Errorf("watch requires one of %s, but got %s", KindNames(", "), said)
}

func podSummary(pod map[string]any) string {
	phase := text(pod, "status", "phase")
	if node := text(pod, "spec", "nodeName"); node != "" {
		return strings.TrimSpace(phase + " on " + node)
	}
	return phase
}

func nodeSummary(node map[string]any) string {
	summary := "NotReady"
	conditions, _, _ := unstructured.NestedSlice(node, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" && condition["status"] == "True" {
			summary = "Ready"
		}
	}
	if unschedulable, _, _ := unstructured.NestedBool(node, "spec", "unschedulable"); unschedulable {
		summary += ", unschedulable"
	}
	return summary
}

func deploymentSummary(deployment map[string]any) string {
	return fmt.Sprintf("%d/%d ready", count(deployment, "status", "readyReplicas"), count(deployment, "spec", "replicas"))
}

func echoSummary(echo map[string]any) string {
	return strings.TrimSpace(text(echo, "status", "phase") + " " + deploymentSummary(echo))
}

func text(object map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(object, path...)
	return value
}

func count(object map[string]any, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object, path...)
	return value
}
