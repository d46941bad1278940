package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// recreateForFamilies reports whether a Service must be recreated because of its IP families. The primary IP family of a Service cannot be
// changed, and the API server keeps the families and the policy even if they are no longer set. The operator does not change a policy that
// another client set.
func recreateForFamilies(want, have map[string]any, owned *fieldpath.Set) bool {
	desired, found := ipFamilies(want), ipFamilies(have)
	if len(desired) > 0 && len(found) > 0 && desired[0] != found[0] {
		return true
	}
	if len(desired) == 0 && owned.Has(fieldpath.MakePathOrDie("spec", "ipFamilies")) {
		return true
	}
	return ipFamilyPolicy(want) == "" && ipFamilyPolicy(have) != corev1.IPFamilyPolicySingleStack &&
		owned.Has(fieldpath.MakePathOrDie("spec", "ipFamilyPolicy"))
}

// withSecondFamily returns the desired Service with the second IP family that the API server added, unless the policy is SingleStack.
// Without that family, the API server would reject the list of IP families.
func withSecondFamily(want *unstructured.Unstructured, live client.Object) *unstructured.Unstructured {
	service, isService := live.(*corev1.Service)
	desired := ipFamilies(want.Object)
	if !isService || len(desired) != 1 || ipFamilyPolicy(want.Object) == corev1.IPFamilyPolicySingleStack {
		return want
	}
	found := service.Spec.IPFamilies
	if len(found) != 2 || string(found[0]) != desired[0] {
		return want
	}
	want = want.DeepCopy()
	spec, _ := want.Object["spec"].(map[string]any)
	spec["ipFamilies"] = []any{desired[0], string(found[1])}
	return want
}

// ipFamilies returns the IP families in the JSON content of a Service.
func ipFamilies(service map[string]any) []string {
	families, _, _ := unstructured.NestedStringSlice(service, "spec", "ipFamilies")
	return families
}

// ipFamilyPolicy returns the IP family policy in the JSON content of a Service, or an empty string if there is none.
func ipFamilyPolicy(service map[string]any) corev1.IPFamilyPolicy {
	policy, _, _ := unstructured.NestedString(service, "spec", "ipFamilyPolicy")
	return corev1.IPFamilyPolicy(policy)
}
