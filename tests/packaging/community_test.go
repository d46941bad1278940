package packaging

import (
	"encoding/base64"
	"regexp"
	"slices"
	"testing"
	"time"
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
		"annotation description":    {csv.Annotations["description"], `^.{10,}$`},
		"annotation alm-examples":   {csv.Annotations["alm-examples"], `(?s)^.{30,}$`},
	} {
		if !regexp.MustCompile(want.pattern).MatchString(want.value) {
			t.Errorf("%s is %q, but must match %s", field, want.value, want.pattern)
		}
	}
	if _, err := time.Parse(time.RFC3339, csv.Annotations["createdAt"]); err != nil {
		t.Errorf("annotation createdAt: %v", err)
	}
	for list, length := range map[string]int{"maintainers": len(csv.Spec.Maintainers), "links": len(csv.Spec.Links),
		"keywords": len(csv.Spec.Keywords)} {
		if length == 0 {
			t.Errorf("there are no %s", list)
		}
	}
}

func TestIconIsTheFile(t *testing.T) {
	icons := bundleCSV(t).Spec.Icon
	if len(icons) != 1 || icons[0].MediaType != "image/svg+xml" {
		t.Fatalf("the icons are %+v", icons)
	}
	if icon, err := base64.StdEncoding.DecodeString(icons[0].Data); err != nil || string(icon) != text(t, "config", "manifests", "icon.svg") {
		t.Errorf("the icon is %q, not config/manifests/icon.svg: %v", icon, err)
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
