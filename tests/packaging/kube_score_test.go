package packaging

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const noNetworkPolicy = "The pod does not have a matching NetworkPolicy"

// TestKubeScore compares kube-score's findings on the manifests and on an Echo's objects with the findings that
// docs/explanation/security.md answers. Each finding must have an answer, and each answer a finding.
func TestKubeScore(t *testing.T) {
	if os.Getenv("KUBE_SCORE") == "" {
		t.Skip("make kube-score builds the program")
	}
	answered := answers(t)
	for name, c := range map[string]struct {
		subject, manifests string
		met                []string
	}{
		"install.yaml":          {"operator", manifestsOf(t, kustomized(t, "resources: [../config/default]")), nil},
		"chart":                 {"operator", manifestsOf(t, installed(t)), nil},
		"chart with its policy": {"operator", manifestsOf(t, installed(t, "networkPolicy.enabled=true")), []string{noNetworkPolicy}},
		"Echo with its pods":    {"Echoes", children(t, "minimal", "check", "companion"), nil},
	} {
		want := slices.DeleteFunc(slices.Clone(answered[c.subject]), func(finding string) bool { return slices.Contains(c.met, finding) })
		if got := findings(t, c.manifests); !slices.Equal(got, want) {
			t.Errorf("%s: kube-score reports\n%s\nbut docs/explanation/security.md answers\n%s", name, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// answers returns the findings in the table in docs/explanation/security.md, by subject.
func answers(t *testing.T) map[string][]string {
	t.Helper()
	_, section, _ := strings.Cut(text(t, "docs/explanation/security.md"), "\n## Findings of kube-score\n")
	section, _, _ = strings.Cut(section, "\n## ")
	answered := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(section, -1) {
		for _, finding := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			for subject := range strings.SplitSeq(row[2], ", ") {
				answered[subject] = append(answered[subject], finding[1])
			}
		}
	}
	for _, findings := range answered {
		slices.Sort(findings)
	}
	return answered
}

// findings returns kube-score's findings on manifests, without duplicates.
func findings(t *testing.T, manifests string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Getenv("KUBE_SCORE"), "score", "--output-format=json", "--kubernetes-version=v1.30", "-")
	command.Stdin = strings.NewReader(manifests)
	output, err := command.Output()
	if failed := new(exec.ExitError); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) { // exit code 1 means findings
		t.Fatal(err)
	}
	var objects []struct {
		Checks []struct {
			Grade    int
			Skipped  bool
			Comments []struct{ Summary string }
		}
	}
	if err := json.Unmarshal(output, &objects); err != nil || len(objects) == 0 {
		t.Fatalf("%v: %s", err, output)
	}
	found := map[string]bool{}
	const fine = 10
	for _, object := range objects {
		for _, check := range object.Checks {
			for _, comment := range check.Comments {
				if !check.Skipped && check.Grade < fine {
					found[comment.Summary] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// manifestsOf converts objects to YAML.
func manifestsOf(t *testing.T, objects map[string]map[string]any) string {
	t.Helper()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		object, err := yaml.Marshal(objects[name])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = all.WriteString("---\n" + string(object))
	}
	return all.String()
}

// children returns objects that the operator creates. It reads them from the files that contain the objects that the operator's tests
// expect. This test does not use everything.yaml, because that file intentionally contains unusual values.
func children(t *testing.T, names ...string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		_, _ = all.WriteString(text(t, "internal", "objects", "testdata", name+".yaml"))
	}
	return all.String()
}
