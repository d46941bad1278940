package reliability

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// step is an action by a user or another client.
type step func(*simulation)

// scenario is a sequence of actions. After each step, the operator works until there is nothing left to do.
type scenario struct {
	name  string
	steps []step
	// namespaces contains the namespaces that the operator watches. If it is empty, the operator watches all namespaces.
	namespaces []string
	// gateways is true if the cluster serves Gateway API and has the Gateway that routes refer to.
	gateways bool
	// like is the name of another scenario that ends in the same state. It can be empty.
	like string
	// gone is true if no Echo exists at the end.
	gone bool
	// ordered is true if the final state depends on the order in which the steps and other clients' actions happen.
	ordered bool
	// seed creates the objects that exist before the operator starts. It can be nil.
	seed step
}

var (
	echoKey       = objectKey{"echoes", "ns", "x"}
	serviceKey    = objectKey{"services", "ns", "x"}
	deploymentKey = objectKey{"deployments", "ns", "x"}
	budgetKey     = objectKey{"poddisruptionbudgets", "ns", "x"}
	policyKey     = objectKey{"networkpolicies", "ns", "x"}
	cronJobKey    = objectKey{"cronjobs", "ns", "x-path-1bb0732a"}
	routeKey      = objectKey{"httproutes", "ns", "x"}
	gatewayKey    = objectKey{"gateways", "ns", "public"}
	ownerKey      = objectKey{"pods", "ns", "web"}
	nodeKey       = objectKey{resource: "nodes", name: "node"}
)

// basics returns the scenarios that run for every change to the operator.
func basics() []scenario {
	return []scenario{
		{name: "create", steps: []step{create}},
		{name: "change", steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Port, s.Service.Port = 9000, 90 })}},
		{name: "delete", gone: true, steps: []step{create, remove}},
	}
}

// others returns the scenarios that are not in basics.
func others() []scenario {
	return slices.Concat(changes(), drifts(), checks(), routes(), []scenario{
		{name: "scale", steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Replicas = new(int32(3)) })}},
		{name: "change of the name of a port", like: "create", ordered: true, // another client could keep the port by changing its number
			steps: []step{create, changeSpec(portName("web")), changeSpec(portName(""))}},
		{name: "name of a port that another client used", like: "create", ordered: true,
			steps: []step{create, changeSpec(portName("web")), addPort("http"), changeSpec(portName(""))}},
		{name: "prune", steps: []step{create, changeSpec(noBudget)}},
		{name: "pause", steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Paused, s.Replicas = true, new(int32(3)) }),
			changeSpec(func(s *v1.EchoSpec) { s.Paused = false })}},
		{name: "refuse", like: "create",
			steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Replicas = new(int32(21)) }), changeSpec(func(s *v1.EchoSpec) { s.Replicas = new(int32(2)) })}},
		{name: "name taken", steps: []step{takeName, create}},
		{name: "name taken and freed", like: "create", steps: []step{takeName, create, freeName}},
		{name: "delete and create", ordered: true, like: "create", steps: []step{create, remove, create}},
		{name: "orphan", gone: true, ordered: true, steps: []step{create, orphan(echoKey)}},
		{name: "delete with a child that lost its labels", gone: true,
			steps: []step{create, changeSpec(pause(true)), removeLabels(budgetKey), changeSpec(noBudget), remove}},
		{name: "orphan the Deployment and delete", gone: true, ordered: true,
			steps: []step{create, changeSpec(func(s *v1.EchoSpec) { s.Paused = true }), orphan(deploymentKey), remove}},
		{name: "companion", like: "create", steps: []step{create, createOwner, func(s *simulation) { s.drop(ownerKey) }}},
		{name: "common metadata with a companion", like: "create",
			steps: []step{create, createOwner, changeSpec(commonMetadata), changeSpec(noCommonMetadata), func(s *simulation) { s.drop(ownerKey) }}},
		{name: "companion of a deleted Echo", gone: true, steps: []step{create, createOwner, remove}},
		{name: "node", like: "create", steps: []step{create, setNode(corev1.ConditionFalse), setNode(corev1.ConditionTrue)}},
		{name: "node deleted", steps: []step{create, func(s *simulation) { s.drop(nodeKey) }}},
		{name: "one namespace", gone: true, namespaces: []string{"ns"}, steps: []step{create, remove}},
		{name: "two namespaces", namespaces: []string{"ns", "other"}, steps: []step{create, createOwner}},
	})
}

// changes returns scenarios that each set a group of fields and then unset the same fields.
func changes() []scenario {
	groups := []struct {
		name string
		set  func(*v1.EchoSpec)
	}{
		{"container", func(s *v1.EchoSpec) {
			s.Image, s.Args, s.Env = "a:1", []string{"-a"}, []corev1.EnvVar{{Name: "A", Value: "1"}}
		}},
		{"response", func(s *v1.EchoSpec) {
			s.Response = &v1.EchoResponse{StatusCode: 418, Body: "b", Headers: []v1.EchoHeader{{Name: "X", Value: "y"}}}
		}},
		{"ingress", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", ClassName: "c", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}
		}},
		{"service", func(s *v1.EchoSpec) { // the operator recreates the Service when the IP families are unset
			s.Service.IPFamilies, s.Service.IPFamilyPolicy = []corev1.IPFamily{corev1.IPv4Protocol}, corev1.IPFamilyPolicySingleStack
		}},
		{"application protocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = "kubernetes.io/h2c" }},
		{"ingress without a host", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: new(true), Path: "/e(/|$)(.*)", PathType: networkingv1.PathTypeImplementationSpecific}
		}},
		{"replicas", func(s *v1.EchoSpec) { s.Replicas = nil }},
		{"common metadata", commonMetadata},
		{"network policy", func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)} }},
		{"placement", func(s *v1.EchoSpec) {
			s.NodeSelector, s.Tolerations = map[string]v1.LabelValue{"a": "b"}, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			s.ServiceAccountName = "mesh"
		}},
		{"pod labels", func(s *v1.EchoSpec) {
			s.PodLabels, s.PodAnnotations = v1.Labels{"a": "b"}, map[string]string{"c": "d"}
		}},
	}
	var all []scenario
	for _, g := range groups {
		plain := support.Echo("ns", "x").Spec
		all = append(all,
			scenario{name: "change of " + g.name, like: "create",
				steps: []step{create, changeSpec(g.set), changeSpec(func(s *v1.EchoSpec) { *s = plain })}})
	}
	return all
}

// drifts returns scenarios in which another client changes objects that the operator created.
func drifts() []scenario {
	edit := func(k objectKey, change func(map[string]any)) step { return func(s *simulation) { s.edit(k, change) } }
	return []scenario{
		{name: "drift of an atomic field", like: "create", steps: []step{create, edit(serviceKey, set("yes", "spec", "selector", "added"))}},
		{name: "drift of a merge key", like: "create", steps: []step{create, edit(serviceKey, editPort)}},
		{name: "drift of labels", like: "create", steps: []step{create, removeLabels(deploymentKey)}},
		{name: "drift of common metadata", like: "create", steps: []step{create, changeSpec(commonMetadata),
			edit(deploymentKey, set("other", "spec", "template", "metadata", "labels", "team")),
			edit(serviceKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "annotations") }), changeSpec(noCommonMetadata)}},
		{name: "drift of the owner", ordered: true,
			steps: []step{create, edit(budgetKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "ownerReferences") })}},
		{name: "drift of the status", like: "create", steps: []step{create, func(s *simulation) { s.setStatus(echoKey, wrongStatus()) }}},
		{name: "drift of what is empty", like: "create of a network policy", steps: []step{createPolicy, edit(policyKey, func(o map[string]any) {
			o["spec"].(map[string]any)["egress"] = []any{map[string]any{}}
		})}},
		{name: "create of a network policy", steps: []step{createPolicy}},
		{name: "a child deleted", like: "create", steps: []step{create, func(s *simulation) { s.drop(serviceKey) }}},
		{name: "the Deployment deleted", like: "create", steps: []step{create, func(s *simulation) { s.drop(deploymentKey) }}},
		{name: "the finalizer removed", like: "create",
			steps: []step{create, edit(echoKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })}},
	}
}

// checks returns scenarios with an Echo that has a check of its Service.
func checks() []scenario {
	created := func(s *simulation) {
		s.create(echoKey, support.Echo("ns", "x", func(e *v1.Echo) {
			e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "@hourly", URL: "http://x.ns.svc", DeadlineSeconds: 60}}
		}))
	}
	const like = "create with a check"
	return []scenario{
		{name: like, steps: []step{created}},
		{name: "a check changed", like: like, steps: []step{created, changeSpec(func(s *v1.EchoSpec) { s.Checks[0].Schedule = "@daily" }),
			changeSpec(func(s *v1.EchoSpec) { s.Checks[0].Schedule = "@hourly" })}},
		{name: "common metadata with a check", like: like, steps: []step{created, changeSpec(commonMetadata), changeSpec(noCommonMetadata)}},
		{name: "a check removed", like: "create", steps: []step{created, changeSpec(func(s *v1.EchoSpec) { s.Checks = nil })}},
		{name: "a CronJob deleted", like: like, steps: []step{created, func(s *simulation) { s.drop(cronJobKey) }}},
		{name: "drift of a CronJob", like: like,
			steps: []step{created, func(s *simulation) { s.edit(cronJobKey, set("@yearly", "spec", "schedule")) }}},
		{name: "delete with a check", gone: true, steps: []step{created, remove}},
		{name: "a CronJob left by an earlier process", like: "create", steps: []step{create, crashAndLeaveCronJob}},
	}
}

// crashAndLeaveCronJob ends the operator's process, which leaves the CronJob of a check that the Echo does not have: the process created the
// CronJob while its cache was outdated.
func crashAndLeaveCronJob(s *simulation) {
	s.process.crashed.Store(true)
	echo := &v1.Echo{}
	convert(s.get(echoKey).Object, echo)
	s.create(cronJobKey, batchv1.CronJob{
		Labels: map[string]string{objects.LabelName: "echo-check", objects.LabelInstance: "x",
			objects.LabelManagedBy: "echo-operator", v1.CheckLabel: "path"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(echo, v1.GroupVersion.WithKind("Echo"))}})
}

// routes returns scenarios with an Echo behind a Gateway.
func routes() []scenario {
	created := func(s *simulation) {
		s.create(echoKey, support.Echo("ns", "x", func(e *v1.Echo) {
			e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "public"}},
				Hostnames: []string{"x.example.com"}}
		}))
	}
	const like = "create with a route"
	all := []scenario{
		{name: like, steps: []step{created}},
		{name: "a route changed", like: like, steps: []step{created, changeSpec(func(s *v1.EchoSpec) { s.Gateway.Path = "/a" }),
			changeSpec(func(s *v1.EchoSpec) { s.Gateway.Path = "" })}},
		{name: "common metadata with a route", like: like, steps: []step{created, changeSpec(commonMetadata), changeSpec(noCommonMetadata)}},
		{name: "no route any more", like: "create behind a Gateway",
			steps: []step{created, changeSpec(func(s *v1.EchoSpec) { s.Gateway = nil })}},
		{name: "create behind a Gateway", steps: []step{create}},
		{name: "a route deleted", like: like, steps: []step{created, func(s *simulation) { s.drop(routeKey) }}},
		{name: "drift of a route", like: like,
			steps: []step{created, func(s *simulation) { s.edit(routeKey, set([]any{"y.example.com"}, "spec", "hostnames")) }}},
		{name: "a Gateway deleted", steps: []step{created, func(s *simulation) { s.drop(gatewayKey) }}},
		{name: "delete with a route", gone: true, steps: []step{created, remove}},
	}
	for i := range all {
		all[i].gateways, all[i].seed = true, createGateway
	}
	return all
}

func createGateway(s *simulation) {
	s.create(gatewayKey,
		gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{GatewayClassName: "a",
			Listeners: []gatewayv1.Listener{{Name: "web", Protocol: "HTTP", Port: 80}}}})
}

func create(s *simulation) { s.create(echoKey, support.Echo("ns", "x")) }

func createPolicy(s *simulation) {
	s.create(echoKey, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)} }))
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

// portName returns a change that sets the port's name. If the name is not the default, it also adds an Ingress that refers to the port.
func portName(name string) func(*v1.EchoSpec) {
	return func(s *v1.EchoSpec) {
		s.Service.PortName, s.Ingress = name, nil
		if name != "" {
			s.Ingress = &v1.EchoIngress{Enabled: new(true)}
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
