package objects

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// service returns the Service in front of an Echo's pods.
func service(echo *v1.Echo, _ Config) any {
	desired := echo.Spec.Service
	http := servicePort(portName, desired.Port).WithName(servicePortName(echo))
	setIfGiven(http.WithAppProtocol, desired.AppProtocol)
	spec := corev1ac.ServiceSpec().
		WithType(cmp.Or(desired.Type, corev1.ServiceTypeClusterIP)).
		WithSelector(SelectorLabels(echo)).
		WithPorts(http).
		WithLoadBalancerSourceRanges(desired.LoadBalancerSourceRanges...).
		WithIPFamilies(desired.IPFamilies...)
	if hasTLS(&echo.Spec) {
		spec.WithPorts(servicePort(httpsPortName, httpsServicePort(&echo.Spec)).WithName(httpsPortName))
	}
	setIfGiven(spec.WithExternalTrafficPolicy, desired.ExternalTrafficPolicy)
	setIfGiven(spec.WithLoadBalancerClass, desired.LoadBalancerClass)
	setIfGiven(spec.WithIPFamilyPolicy, desired.IPFamilyPolicy)
	return corev1ac.Service(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(spec)
}

// setIfGiven sets a field if the Echo specifies a value. Otherwise, Kubernetes chooses the value.
func setIfGiven[T ~string, C any](set func(T) C, value T) {
	if value != "" {
		set(value)
	}
}

// servicePort returns a Service port that targets a port of the containers.
func servicePort(target string, port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithProtocol(corev1.ProtocolTCP).WithPort(port).WithTargetPort(intstr.FromString(target))
}

// refineService sets the functions that determine when a Service is recreated, and which values an update preserves.
func refineService(service *Child) {
	service.MergeLive = withSecondFamily
	service.Recreate = func(want, have map[string]any, owned *fieldpath.Set) bool {
		// The primary IP family of a Service cannot be changed, and the API server keeps the families and the policy even if they are no
		// longer set. The operator does not change a policy that another client set.
		desired, found := ipFamilies(want), ipFamilies(have)
		changesPrimary := len(desired) > 0 && len(found) > 0 && desired[0] != found[0]
		unsetsFamilies := len(desired) == 0 && owned.Has(fieldpath.MakePathOrDie("spec", "ipFamilies"))
		unsetsPolicy := specText(want, "ipFamilyPolicy") == "" && owned.Has(fieldpath.MakePathOrDie("spec", "ipFamilyPolicy"))
		return recreateForClass(want, have, owned) || changesPrimary || unsetsFamilies ||
			unsetsPolicy && specText(have, "ipFamilyPolicy") != singleStack
	}
}

// recreateForClass reports whether a Service must be recreated because its load balancer class differs. A class that another client set,
// such as a default class, stays unchanged.
func recreateForClass(want, have map[string]any, owned *fieldpath.Set) bool {
	const loadBalancer = string(corev1.ServiceTypeLoadBalancer)
	if specText(want, "type") != loadBalancer || specText(have, "type") != loadBalancer {
		return false
	}
	if desired := specText(want, "loadBalancerClass"); desired != "" {
		return desired != specText(have, "loadBalancerClass")
	}
	return owned.Has(fieldpath.MakePathOrDie("spec", "loadBalancerClass"))
}

const singleStack = string(corev1.IPFamilyPolicySingleStack)

// withSecondFamily returns the desired Service with the second IP family that the API server added, unless the policy is SingleStack.
// Without that family, the API server would reject the list of IP families.
func withSecondFamily(want *unstructured.Unstructured, live client.Object) *unstructured.Unstructured {
	service, isService := live.(*corev1.Service)
	desired := ipFamilies(want.Object)
	if !isService || len(desired) != 1 || specText(want.Object, "ipFamilyPolicy") == singleStack {
		return want
	}
	found := service.Spec.IPFamilies
	if len(found) != 2 || string(found[0]) != desired[0] {
		return want
	}
	want = want.DeepCopy()
	want.Object["spec"].(map[string]any)["ipFamilies"] = []any{desired[0], string(found[1])}
	return want
}

func ipFamilies(service map[string]any) []string {
	families, _, _ := unstructured.NestedStringSlice(service, "spec", "ipFamilies")
	return families
}

// specText returns a string in the spec of an object's JSON content, or an empty string if there is none.
func specText(object map[string]any, field string) string {
	text, _, _ := unstructured.NestedString(object, "spec", field)
	return text
}
