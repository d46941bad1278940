package crashes

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// quiet is how long the test checks that the operator sends no writes while nothing changes.
const quiet = 10 * time.Second

// withoutEchoes returns the kinds of objects that may belong to an Echo, excluding the Echo kind itself.
func withoutEchoes() []client.ObjectList {
	return []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.ServiceList{},
		&policyv1.PodDisruptionBudgetList{}, &networkingv1.IngressList{}, &networkingv1.NetworkPolicyList{}, &corev1.PodList{}}
}

// objects returns all objects of the given kinds in a namespace.
func objects(ctx context.Context, g Gomega, namespace string, kinds ...client.ObjectList) []client.Object {
	var all []client.Object
	for _, list := range kinds {
		g.Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		g.Expect(meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, item.(client.Object))
			return nil
		})).To(Succeed())
	}
	return all
}

// picture returns the contents of a namespace, by kind and name. It omits values that differ between two namespaces with the same Echoes:
// generated names, times, UIDs, versions, and addresses. Each object is shown with its owner, so that an object whose owner no longer
// exists causes a difference.
func picture(ctx context.Context, g Gomega, namespace string) map[string]string {
	all := objects(ctx, g, namespace, append(withoutEchoes(), &v1.EchoList{})...)
	living := map[types.UID]string{}
	for _, object := range all {
		living[object.GetUID()] = fmt.Sprintf("%T %s", object, object.GetName())
	}
	seen, pods := map[string]string{}, map[string]int{}
	for _, object := range all {
		switch o := object.(type) {
		case *appsv1.ReplicaSet:
			if *o.Spec.Replicas > 0 || o.Status.Replicas > 0 {
				seen[living[o.UID]] = fmt.Sprintf("%d of %d replicas of %s", o.Status.Replicas, *o.Spec.Replicas, owner(o, living))
			}
		case *corev1.Pod:
			// The picture omits the application pods and the probers, which the test creates without a controller.
			if owner := owner(o, living); strings.Contains(owner, "Pod") {
				seen[companionKey(seen, owner)] = masked(o, living, namespace)
			} else if owner != "" {
				pods[owner]++
			}
		default:
			seen[living[o.GetUID()]] = masked(o, living, namespace)
		}
	}
	for owner, count := range pods {
		seen["pods of "+owner] = strconv.Itoa(count)
	}
	return seen
}

// companionKey derives a key for a companion from its owner's name. If an owner has several companions, the keys of all but the first
// contain a number.
func companionKey(seen map[string]string, owner string) string {
	key := "companion of " + owner
	for number := 2; seen[key] != ""; number++ {
		key = fmt.Sprintf("companion %d of %s", number, owner)
	}
	return key
}

// owner returns the kind and name of an object's controller, or "" if the object has no controller.
func owner(object client.Object, living map[types.UID]string) string {
	controller := metav1.GetControllerOf(object)
	switch {
	case controller == nil:
		return ""
	case living[controller.UID] == "":
		return "a " + controller.Kind + " that is gone"
	default:
		return living[controller.UID]
	}
}

// masked returns an object as YAML, without the values that differ between namespaces.
func masked(object client.Object, living map[types.UID]string, namespace string) string {
	o := object.DeepCopyObject().(client.Object)
	maskMetadata(o, living)
	switch o := o.(type) {
	case *v1.Echo:
		maskEcho(o, object.GetGeneration())
	case *appsv1.Deployment:
		o.Status = appsv1.DeploymentStatus{}
	case *corev1.Service:
		o.Spec.ClusterIP, o.Spec.ClusterIPs = "", nil
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	case *corev1.Pod:
		o.Name = ""
		o.Status = corev1.PodStatus{}
	}
	text, err := yaml.Marshal(o)
	Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(text), namespace, "NAMESPACE")
}

func maskMetadata(o client.Object, living map[types.UID]string) {
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetCreationTimestamp(metav1.Time{})
	o.SetManagedFields(nil)
	annotations := o.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	delete(annotations, v1.AppliedHashAnnotation) // differs for companions, whose names depend on a UID
	o.SetAnnotations(annotations)
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = types.UID(living[owners[i].UID])
	}
	o.SetOwnerReferences(owners)
}

func maskEcho(echo *v1.Echo, generation int64) {
	echo.Status.ObservedGeneration -= generation
	for i := range echo.Status.Conditions {
		echo.Status.Conditions[i].ObservedGeneration -= generation
		echo.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	for state, names := range echo.Status.Pods {
		echo.Status.Pods[state] = []string{strconv.Itoa(len(names))}
	}
}

// expectQuiet expects the operator to write nothing for some time.
func expectQuiet(ctx context.Context, namespaces ...string) {
	GinkgoHelper()
	before, written := echoVersions(ctx, Default, namespaces), writes(ctx)
	Consistently(func(g Gomega) {
		g.Expect(echoVersions(ctx, g, namespaces)).To(Equal(before))
	}).WithContext(ctx).WithTimeout(quiet).WithPolling(time.Second).Should(Succeed())
	Expect(writes(ctx)).To(Equal(written), "write requests by the operator, including those without an effect")
}

func echoVersions(ctx context.Context, g Gomega, namespaces []string) []string {
	var versions []string
	for _, namespace := range namespaces {
		list := &v1.EchoList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, echo := range list.Items {
			versions = append(versions, echo.Name+" "+echo.ResourceVersion)
		}
	}
	return versions
}

// writes returns the API server's counts of write requests for Echoes and for objects of their children's kinds. It excludes PUT requests,
// which Kubernetes controllers send.
func writes(ctx context.Context) []string {
	GinkgoHelper()
	counted := regexp.MustCompile(
		`^apiserver_request_total\{.*resource="(echoes|deployments|services|poddisruptionbudgets|ingresses|networkpolicies|pods)".*verb="(APPLY|PATCH|DELETE)"`)
	var counts []string
	for line := range strings.Lines(realcluster.Kubectl(ctx, "get", "--raw", "/metrics")) {
		kubelet := strings.Contains(line, `resource="pods"`) && !strings.Contains(line, `verb="APPLY"`)
		if counted.MatchString(line) && !kubelet {
			counts = append(counts, strings.TrimSpace(line))
		}
	}
	slices.Sort(counts)
	Expect(counts).NotTo(BeEmpty())
	return counts
}
