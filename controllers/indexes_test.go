package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/echo-operator/echo-operator/controllers"
)

func TestNodeOfPod(t *testing.T) {
	if got := controllers.NodeOfPod(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}); len(got) != 1 || got[0] != "n" {
		t.Errorf("got %v", got)
	}
	NewWithT(t).Expect(controllers.NodeOfPod(&corev1.Pod{})).To(BeNil())
}
