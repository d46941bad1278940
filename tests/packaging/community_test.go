package packaging

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestCommunityFields repeats the static tests of the OpenShift community pipeline, except the tests that the validators also run.
func TestCommunityFields(t *testing.T) {
	csv := bundleCSV(t)
	for field, want := range map[string]struct{ value, pattern string }{
		"displayName":               {csv.Spec.DisplayName, `^.{3,50}$`},
		"description":               {csv.Spec.Description, `(?s)^.{20,}$`},
		"version":                   {version(t), `^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$`},
		"provider.name":             {csv.Spec.Provider.Name, `^.{3,}$`},
		"annotation containerImage": {csv.Annotations["containerImage"], `^[^/]+/[^/]+/[^/:]+:.+$`},
		"annotation repository":     {csv.Annotations["repository"], `^https?://.+$`},
		"annotation support":        {csv.Annotations["support"], `^.{3,}$`},
		"support workflow": {csv.Annotations["marketplace.openshift.io/support-workflow"],
			"^" + regexp.QuoteMeta(csv.Annotations["repository"]) + "/issues$"},
		"annotation description":  {csv.Annotations["description"], `^.{10,}$`},
		"annotation alm-examples": {csv.Annotations["alm-examples"], `(?s)^.{30,}$`},
	} {
		if !regexp.MustCompile(want.pattern).MatchString(want.value) {
			t.Errorf("%s is %q, but must match %s", field, want.value, want.pattern)
		}
	}
	for list, length := range map[string]int{"maintainers": len(csv.Spec.Maintainers), "links": len(csv.Spec.Links),
		"keywords": len(csv.Spec.Keywords)} {
		if length == 0 {
			t.Errorf("there are no %s", list)
		}
	}
}

// TestBundleInstallsEverywhere checks which kinds of objects the bundle contains. The community pipeline rejects a bundle that contains a
// NetworkPolicy. OLM does not install a bundle with kinds that the cluster does not serve, such as kinds of the Prometheus Operator, the
// OpenShift console, or Gateway API.
func TestBundleInstallsEverywhere(t *testing.T) {
	for _, object := range loadBundle(t).Objects {
		kind := object.GroupVersionKind().GroupKind()
		if kind.Kind == "NetworkPolicy" ||
			slices.Contains([]string{"monitoring.coreos.com", "console.openshift.io", "gateway.networking.k8s.io"}, kind.Group) {
			t.Errorf("the bundle has %s %s", kind, object.GetName())
		}
	}
}

// TestColumnsOfTheList checks the printer columns of the CRD. The OpenShift console shows all columns, including those for `kubectl get -o
// wide`. Next to a column with long values, such as reasons or URLs, it cuts the headings.
func TestColumnsOfTheList(t *testing.T) {
	var names []string
	for _, column := range currentCRD(t).Spec.Versions[0].AdditionalPrinterColumns {
		names = append(names, column.Name)
		if column.Priority != 0 {
			t.Errorf("the column %s is for wide lists", column.Name)
		}
	}
	if want := []string{"Desired", "Ready", "Phase", "Age"}; !slices.Equal(names, want) {
		t.Errorf("the columns are %v, want %v", names, want)
	}
}

// TestResourcesOfTheDetailsPage checks the list of resources in the bundle. The OpenShift console follows owner references in the order of
// the list, and finds an Ingress only by its full resource name. Each kind must be built into Kubernetes, because the console's Topology
// view shows no objects unless the cluster serves all of the kinds. The list contains Event, because operator-sdk would otherwise assume
// that a rule for events refers to the old events.k8s.io/v1beta1 API.
func TestResourcesOfTheDetailsPage(t *testing.T) {
	var listed []string
	for _, r := range bundleCSV(t).Spec.CustomResourceDefinitions.Owned[0].Resources {
		listed = append(listed, strings.TrimSpace(r.Kind+" "+r.Name))
	}
	want := []string{"Deployment", "ReplicaSet", "CronJob", "Job", "Pod", "Event", "NetworkPolicy", "PodDisruptionBudget", "Service",
		"Ingress ingresses.networking.k8s.io"}
	if !slices.Equal(listed, want) {
		t.Errorf("the resources are %q, want %q", listed, want)
	}
}

// TestHelpTexts_nameWhatIsShown checks that help texts refer to fields by their descriptors' names, because the form and the details page
// do not show field names.
func TestHelpTexts_nameWhatIsShown(t *testing.T) {
	schema := currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	groups := map[string]apiextensionsv1.JSONSchemaProps{"spec": schema["spec"], "status": schema["status"]}
	maps.Copy(groups, schema["spec"].Properties)
	owned := bundleCSV(t).Spec.CustomResourceDefinitions.Owned[0]
	for _, d := range owned.SpecDescriptors {
		if slices.Contains(d.XDescriptors, "urn:alm:descriptor:com.tectonic.ui:hidden") {
			continue
		}
		for _, found := range regexp.MustCompile(`\b([a-z]+)\.([a-z]\w*)|\b[a-z]+[A-Z]\w*`).FindAllStringSubmatch(d.Description, -1) {
			if _, isField := groups[found[1]].Properties[found[2]]; isField || found[1] == "" {
				t.Errorf("the help text of %s contains %s", d.Path, found[0])
			}
		}
	}
	if len(owned.SpecDescriptors) < 50 {
		t.Errorf("there are %d descriptors", len(owned.SpecDescriptors))
	}
}
