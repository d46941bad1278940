package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// prefix begins the names of all that the tests make.
const prefix = "scorecard-"

// ownCopy is an example under a name that nobody else has.
func ownCopy(example *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	object := example.DeepCopy()
	object.SetNamespace(namespace)
	object.SetGenerateName(prefix + example.GetName() + "-")
	object.SetName("")
	return object
}

// plainEcho is the least that an Echo can be.
func plainEcho(namespace string) *v1.Echo {
	return &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: prefix + "plain-"}, Spec: v1.EchoSpec{Replicas: 1}}
}

// fullEcho is an Echo that has every kind of child.
func fullEcho(namespace string) *v1.Echo {
	echo := plainEcho(namespace)
	echo.GenerateName = prefix + "full-"
	echo.Spec.DisruptionBudget = v1.EchoDisruptionBudget{Enabled: new(true)}
	echo.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "scorecard.example.com"}
	echo.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
	return echo
}

// isReady tells whether an Echo is as it is wanted now.
func isReady(echo *v1.Echo) bool {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == echo.Generation
}

// state is what an Echo says of itself.
func state(echo *v1.Echo) string {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	if ready == nil {
		return "it has no condition; does the operator look after its namespace?"
	}
	return fmt.Sprintf("generation %d of %d, %s: %s", ready.ObservedGeneration, echo.Generation, ready.Reason, ready.Message)
}
