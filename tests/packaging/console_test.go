package packaging

import (
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// TestColumnsOfTheList: the OpenShift console shows every printer column, those for `kubectl get -o wide` included.
func TestColumnsOfTheList(t *testing.T) {
	var names []string
	for _, column := range currentCRD(t).Spec.Versions[0].AdditionalPrinterColumns {
		names = append(names, column.Name)
		if column.Priority != 0 {
			t.Errorf("the column %s is for wide lists", column.Name)
		}
	}
	if want := []string{"Desired", "Ready", "Phase", "Reason", "Age"}; !slices.Equal(names, want) {
		t.Errorf("the columns are %v, want %v", names, want)
	}
}

// TestResourcesOfTheDetailsPage: the OpenShift console follows owners in the order of the list, and finds an Ingress only by its full name.
func TestResourcesOfTheDetailsPage(t *testing.T) {
	listed := bundleCSV(t).Spec.CustomResourceDefinitions.Owned[0].Resources
	index := func(kind string) int {
		return slices.IndexFunc(listed, func(r v1alpha1.APIResourceReference) bool { return r.Kind == kind })
	}
	for _, pair := range [][2]string{{"Deployment", "ReplicaSet"}, {"ReplicaSet", "Pod"}} {
		if owner, owned := index(pair[0]), index(pair[1]); owner < 0 || owned < owner {
			t.Errorf("%s does not stand before %s", pair[0], pair[1])
		}
	}
	for _, kind := range []string{"Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget"} {
		if index(kind) < 0 {
			t.Errorf("%s is not listed", kind)
		}
	}
	if name := listed[index("Ingress")].Name; name != "ingresses.networking.k8s.io" {
		t.Errorf("the name of the Ingress is %q", name)
	}
}
