package reliability

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func createGateway(s *simulation) {
	s.create(gatewayKey,
		gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{GatewayClassName: "a",
			Listeners: []gatewayv1.Listener{{Name: "web", Protocol: "HTTP", Port: 80}}}})
}

func create(s *simulation) { s.create(echoKey, support.Echo("ns", "x")) }

func createPolicy(s *simulation) {
	s.create(echoKey, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true} }))
}

func remove(s *simulation) { s.drop(echoKey) }

// changeSpec returns a step that changes the Echo's spec.
func changeSpec(change func(*v1.EchoSpec)) step {
	return func(s *simulation) {
		s.edit(echoKey, func(object map[string]any) {
			spec := &v1.EchoSpec{}
			convert(object["spec"], spec)
			change(spec)
			object["spec"] = content(spec)
		})
	}
}

// set returns a change that sets a field.
func set(value any, path ...string) func(map[string]any) {
	return func(object map[string]any) {
		utilruntime.Must(unstructured.SetNestedField(object, value, path...))
	}
}

func pause(paused bool) func(*v1.EchoSpec) { return func(s *v1.EchoSpec) { s.Paused = paused } }

func commonMetadata(s *v1.EchoSpec) {
	s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{"team": "a"}, Annotations: v1.Annotations{"example.org/owner": "b"}}
}

func noCommonMetadata(s *v1.EchoSpec) { s.CommonMetadata = nil }

// portName returns a change that sets the port's name. If the name is not the default, the change also adds an Ingress that refers to the
// port.
func portName(name string) func(*v1.EchoSpec) {
	return func(s *v1.EchoSpec) {
		s.Service.PortName, s.Ingress = name, nil
		if name != "" {
			s.Ingress = &v1.EchoIngress{Enabled: true}
		}
	}
}

func noBudget(s *v1.EchoSpec) { s.DisruptionBudget.Enabled = new(false) }

// removeLabels returns a step that removes a child's labels, so that the cache no longer contains the child.
func removeLabels(k objectKey) step {
	return func(s *simulation) {
		s.edit(k, func(o map[string]any) { delete(o["metadata"].(map[string]any), "labels") })
	}
}

// editPort changes the number of a Service's port. The number is the merge key of the port list.
func editPort(service map[string]any) {
	service["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["port"] = int64(99)
}

// addPort returns a step in which another client adds a named port to the Service.
func addPort(name string) step {
	return func(s *simulation) {
		s.edit(serviceKey, func(service map[string]any) {
			spec := service["spec"].(map[string]any)
			spec["ports"] = append(spec["ports"].([]any), map[string]any{"name": name, "port": int64(99), "protocol": "TCP"})
		})
	}
}

// takeName creates another client's Service with the Echo's name.
func takeName(s *simulation) {
	s.create(serviceKey, corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "theirs", Port: 5}}}})
}

func freeName(s *simulation) { s.drop(serviceKey) }

// orphan returns a step that deletes an object but not its dependents.
func orphan(k objectKey) step {
	return func(s *simulation) {
		_ = s.remove(k, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	}
}

// createOwner creates a pod that requests a companion.
func createOwner(s *simulation) {
	s.create(ownerKey, corev1.Pod{Labels: map[string]string{v1.CompanionLabel: "x"},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}})
}

func readyNode() corev1.Node {
	return corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

// setNode returns a step that sets the node's Ready condition.
func setNode(ready corev1.ConditionStatus) step {
	return func(s *simulation) {
		s.setStatus(nodeKey, corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}})
	}
}

// wrongStatus returns a status that is incorrect in all scenarios.
func wrongStatus() map[string]any {
	return map[string]any{"phase": "Pending", "replicas": int64(7), "readyReplicas": int64(6), "updatedReplicas": int64(5)}
}
