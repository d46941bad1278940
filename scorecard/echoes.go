package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// prefix is the prefix of the names of all objects that the tests create.
const prefix = "scorecard-"

// ownCopy returns a copy of an example with a generated name.
func ownCopy(example *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	object := example.DeepCopy()
	object.SetNamespace(namespace)
	object.SetGenerateName(prefix + example.GetName() + "-")
	object.SetName("")
	return object
}

// plainEcho returns an Echo with defaults and one replica.
func plainEcho(namespace string) *v1.Echo {
	return &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: prefix + "plain-"}, Spec: v1.EchoSpec{Replicas: 1}}
}

// fullEcho returns an Echo that has every kind of child.
func fullEcho(namespace string) *v1.Echo {
	echo := plainEcho(namespace)
	echo.GenerateName = prefix + "full-"
	echo.Spec.DisruptionBudget = v1.EchoDisruptionBudget{Enabled: new(true)}
	echo.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "scorecard.example.com"}
	echo.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
	return echo
}

// isReady reports whether an Echo is Ready in its current generation.
func isReady(echo *v1.Echo) bool {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == echo.Generation
}

// state returns the Ready condition of an Echo as text.
func state(echo *v1.Echo) string {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	if ready == nil {
		return "it has no condition; check that the operator watches its namespace"
	}
	return fmt.Sprintf("generation %d of %d, %s: %s", ready.ObservedGeneration, echo.Generation, ready.Reason, ready.Message)
}
