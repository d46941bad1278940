package reliability

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// templateAnnotation contains the digest of the template from which a pod was created.
const templateAnnotation = "template"

// orphanedReplicaSet is the UID of an orphaned Deployment's ReplicaSet.
const orphanedReplicaSet = types.UID("orphaned")

// control does the work of the Deployment controller, the Gateway controller, the kubelet, and the garbage collector.
func (s *simulation) control() {
	for _, o := range s.list("deployments") {
		if o.GetDeletionTimestamp() == nil {
			s.rollOut(typed(o, &appsv1.Deployment{}))
		}
	}
	for _, o := range s.list("pods") {
		s.runPod(o)
	}
	for _, o := range s.list("httproutes") {
		s.acceptRoute(typed(o, &gatewayv1.HTTPRoute{}))
	}
	s.collectGarbage()
}

// typed converts an object to its Go type.
func typed[T any](o *unstructured.Unstructured, into T) T {
	convert(o.Object, into)
	return into
}

// content returns an object as JSON data.
func content(object any) map[string]any {
	fields := map[string]any{}
	convert(object, &fields)
	return fields
}

// create creates an object unless it exists.
func (s *store) create(k objectKey, object any) {
	_, err := s.write(k, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live != nil {
			return live, nil
		}
		o := &unstructured.Unstructured{Object: content(object)}
		o.SetGroupVersionKind(kinds[k.resource].gvk())
		o.SetNamespace(k.namespace)
		o.SetName(k.name)
		return o, nil
	})
	utilruntime.Must(err)
}

func (s *store) setStatus(k objectKey, status any) {
	_, err := s.write(k, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live != nil {
			live.Object["status"] = content(status)
		}
		return live, nil
	})
	utilruntime.Must(err)
}

// rollOut updates a Deployment's pods and status to the desired state.
func (s *simulation) rollOut(d *appsv1.Deployment) {
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name, UID: d.UID, Controller: new(true)}
	template := digest(d.Spec.Template)
	wanted := map[string]bool{}
	for i := range *d.Spec.Replicas {
		k := objectKey{"pods", d.Namespace, fmt.Sprintf("%s-%d", d.Name, i)}
		wanted[k.name] = true
		if old := s.get(k); old != nil && old.GetAnnotations()[templateAnnotation] != template {
			s.drop(k)
		}
		s.create(k, corev1.Pod{Spec: d.Spec.Template.Spec, Labels: d.Spec.Template.Labels,
			Annotations: map[string]string{templateAnnotation: template}, OwnerReferences: []metav1.OwnerReference{owner}})
	}
	for _, pod := range s.list("pods") {
		if metav1.IsControlledBy(pod, d) && !wanted[pod.GetName()] {
			s.drop(objectKey{"pods", pod.GetNamespace(), pod.GetName()})
		}
	}
	n := *d.Spec.Replicas
	s.setStatus(objectKey{"deployments", d.Namespace, d.Name}, appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}})
}

// digest returns a short text that identifies a template.
func digest(template corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	utilruntime.Must(err)
	hash := fnv.New32()
	_, _ = hash.Write(text) // Write never returns an error
	return strconv.Itoa(int(hash.Sum32()))
}

// runPod assigns a pod to a node, and marks the pod as ready.
func (s *simulation) runPod(o *unstructured.Unstructured) {
	k := objectKey{"pods", o.GetNamespace(), o.GetName()}
	if node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName"); node == "" {
		s.edit(k, func(pod map[string]any) { pod["spec"].(map[string]any)["nodeName"] = "node" })
	}
	s.setStatus(k,
		corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}})
}

// acceptRoute sets a route's status as if its Gateways had accepted the route.
func (s *simulation) acceptRoute(route *gatewayv1.HTTPRoute) {
	status := gatewayv1.HTTPRouteStatus{}
	for _, parent := range route.Spec.ParentRefs {
		status.Parents = append(status.Parents, gatewayv1.RouteParentStatus{ParentRef: parent, ControllerName: "example.com/controller",
			Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}}})
	}
	s.setStatus(objectKey{"httproutes", route.Namespace, route.Name}, status)
}

// drop deletes an object.
func (s *store) drop(k objectKey) {
	_ = s.remove(k, metav1.DeleteOptions{}) // the object may already be gone
}

// collectGarbage deletes the dependents of objects that no longer exist, and completes deletions that wait for dependents.
func (s *simulation) collectGarbage() {
	live, dependents := map[types.UID]bool{orphanedReplicaSet: true}, map[types.UID][]objectKey{}
	resources := slices.Sorted(maps.Keys(kinds)) // sorted, so that runs are reproducible
	for _, resource := range resources {
		for _, o := range s.list(resource) {
			live[o.GetUID()] = true
			if owner := metav1.GetControllerOf(o); owner != nil {
				dependents[owner.UID] = append(dependents[owner.UID], objectKey{resource, o.GetNamespace(), o.GetName()})
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(dependents)) {
		if !live[owner] {
			for _, k := range dependents[owner] {
				s.drop(k)
			}
		}
	}
	for _, resource := range resources {
		for _, o := range s.list(resource) {
			s.endDeletion(objectKey{resource, o.GetNamespace(), o.GetName()}, o.GetFinalizers(), dependents[o.GetUID()])
		}
	}
}

// endDeletion deletes or orphans an object's dependents, and then removes the finalizers that delayed the object's deletion.
func (s *simulation) endDeletion(k objectKey, finalizers []string, dependents []objectKey) {
	orphan, foreground := slices.Contains(finalizers, metav1.FinalizerOrphanDependents), slices.Contains(finalizers,
		metav1.FinalizerDeleteDependents)
	if !orphan && !foreground {
		return
	}
	waits := false
	for _, dependent := range dependents {
		if orphan {
			s.edit(dependent, free)
			continue
		}
		s.drop(dependent)
		waits = waits || s.get(dependent) != nil
	}
	if waits {
		return
	}
	s.edit(k, func(o map[string]any) {
		kept := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
			return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
		})
		(&unstructured.Unstructured{Object: o}).SetFinalizers(kept)
	})
}

// free removes an orphan's owner reference, or makes an orphaned Deployment's ReplicaSet the owner of a pod.
func free(object map[string]any) {
	o := &unstructured.Unstructured{Object: object}
	if o.GetKind() != "Pod" {
		o.SetOwnerReferences(nil)
		return
	}
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = orphanedReplicaSet
	}
	o.SetOwnerReferences(owners)
}

// convert converts a value to another type through JSON.
func convert(from, into any) {
	text, err := json.Marshal(from)
	utilruntime.Must(err)
	utilruntime.Must(json.Unmarshal(text, into))
}
