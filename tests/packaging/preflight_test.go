package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/validation"
)

func TestFeatureAnnotationsAreSet(t *testing.T) {
	annotations := bundleCSV(t).Annotations
	for _, feature := range []string{"cnf", "cni", "csi", "disconnected", "fips-compliant", "proxy-aware", "tls-profiles",
		"token-auth-aws", "token-auth-azure", "token-auth-gcp"} {
		if value := annotations["features.operators.openshift.io/"+feature]; value != "true" && value != "false" {
			t.Errorf("the feature %s is %q", feature, value)
		}
	}
	if annotations["features.operators.openshift.io/proxy-aware"] != "true" { // TestOptions_proxies and TestCheck_proxy show it
		t.Error("the operator is not proxy-aware")
	}
}

// TestImagesForMirrors checks the related images. Only these images are mirrored for a disconnected cluster. The operator must know the
// names of all of them except the must-gather image, which users run. A release may omit the must-gather image.
func TestImagesForMirrors(t *testing.T) {
	csv := bundleCSV(t)
	container := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
	var related, known []string
	mustGather := false
	for _, image := range csv.Spec.RelatedImages {
		if strings.HasPrefix(image.Image, "quay.io/echo-operator/echo-operator-must-gather") {
			mustGather = true
			continue
		}
		related = append(related, image.Image)
	}
	if digests, err := os.ReadFile(inProject("config", "manifests", "digests")); mustGather != (os.IsNotExist(err) ||
		strings.Contains(string(digests), "/echo-operator-must-gather@")) {
		t.Errorf("must-gather is among the related images: %t, want the opposite", mustGather)
	}
	for _, variable := range container.Env {
		if strings.HasPrefix(variable.Name, "RELATED_IMAGE_") {
			known = append(known, variable.Value)
		}
	}
	if slices.Sort(related); len(known) == 0 || !slices.Equal(related, slices.Sorted(slices.Values(known))) {
		t.Errorf("the related images are %v, but the operator knows %v", related, known)
	}
	for _, image := range []string{container.Image, csv.Annotations["containerImage"]} {
		if !slices.Contains(related, image) {
			t.Errorf("%s is not in the related images %v", image, related)
		}
	}
}

// TestDigestsForAllOrNone checks that either all or none of the image references have digests. During development, they have tags. In a
// release, all of them have digests, because mirrors require digests.
func TestDigestsForAllOrNone(t *testing.T) {
	images := regexp.MustCompile(`quay\.io/echo-operator/[\w./:@-]+`).
		FindAllString(text(t, "bundle", "manifests", "echo-operator.clusterserviceversion.yaml"), -1)
	hasDigest := func(image string) bool { return regexp.MustCompile(`@sha256:[0-9a-f]{64}$`).MatchString(image) }
	if len(images) == 0 ||
		slices.ContainsFunc(images, hasDigest) && slices.ContainsFunc(images, func(image string) bool { return !hasDigest(image) }) {
		t.Errorf("some images have no digest: %v", images)
	}
}

// TestValidators runs all validators from operator-sdk, the operator hubs, and preflight. Warnings are failures.
func TestValidators(t *testing.T) {
	imagesFor(t, "amd64", "arm64", "ppc64le", "s390x")
	objects := append(loadBundle(t).ObjectsToValidate(), map[string]string{"k8s-version": "1.37"})
	for _, result := range validation.AllValidators.Validate(objects...) {
		for _, finding := range slices.Concat(result.Errors, result.Warnings) {
			t.Errorf("%s: %v", result.Name, finding)
		}
	}
}

// imagesFor replaces PATH with a directory that contains only a fake docker program. The program reports that all images exist for Linux on
// the given architectures. The architecture validator compares labels and node affinity with the architectures of the images. The images do
// not exist yet, because a release is tested before its images are pushed.
func imagesFor(t *testing.T, architectures ...string) {
	t.Helper()
	docker := "#!/bin/sh\n[ $1 = pull ] || echo '{\"manifests\":[{}"
	for _, architecture := range architectures {
		docker += `,{"platform":{"os":"linux","architecture":"` + architecture + `"}}`
	}
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "docker"), []byte(docker+"]}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
}
