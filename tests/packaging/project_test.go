package packaging

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedNames_exist checks that documentation pages mention only metrics and settings that exist. docs/reference/surface.md lists
// the names that the source files define.
func TestDocumentedNames_exist(t *testing.T) {
	surface, checked := text(t, "docs/reference/surface.md"), 0
	name := regexp.MustCompile("`(echo_[a-z_]+|ECHO_[A-Z_]+)(?:=[^`]*|\\{[^`]*)?`")
	part := regexp.MustCompile("_(bucket|sum|count)$") // the suffixes of histogram metrics
	notNames := []string{"echo_namespace", "ECHO_INFO_"}
	for file, content := range documents(t) {
		// These two pages mention names that were removed or that belong to other projects.
		if file == "CHANGELOG.md" || file == "docs/how-to/coming-from-another-echo-server.md" {
			continue
		}
		for _, found := range name.FindAllStringSubmatch(content, -1) {
			checked++
			if !slices.Contains(notNames, found[1]) && !strings.Contains(surface, "`"+part.ReplaceAllString(found[1], "")+"`") {
				t.Errorf("%s names %s, which does not exist", file, found[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d names were found", checked)
	}
}

// TestDocumentedControllers checks that docs/reference/metrics.md lists all values of the controller label.
func TestDocumentedControllers(t *testing.T) {
	names := map[string]bool{}
	for _, file := range filesNamed(t, "*.go") {
		if strings.HasPrefix(file, "controllers/") {
			for _, found := range regexp.MustCompile(`\bnewController\(mgr, "([a-z]+)"\)`).FindAllStringSubmatch(text(t, file), -1) {
				names[found[1]] = true
			}
		}
	}
	_, list, _ := strings.Cut(text(t, "docs/reference/metrics.md"), "reconciles by `controller`: ")
	list, _, _ = strings.Cut(list, ";")
	if got, want := slices.Sorted(strings.SplitSeq(list, ", ")), slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
		t.Errorf("docs/reference/metrics.md has the controllers %v, want %v", got, want)
	}
}

// TestEveryPackageWithALockIsRaced checks that `make race` runs the tests of every shipped package that synchronizes goroutines.
func TestEveryPackageWithALockIsRaced(t *testing.T) {
	raced := strings.Fields(strings.Replace(setting(t, "raced"), "$(covered)", setting(t, "covered"), 1))
	locks := regexp.MustCompile(`(?m)^(?:import )?\s*"sync(?:/atomic)?"$`)
	var found []string
	for _, file := range filesNamed(t, "*.go") {
		folder := path.Dir(file)
		isShipped := !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "tests/") && !strings.HasPrefix(file, "tools/")
		if !isShipped || slices.Contains(found, folder) || !locks.MatchString(text(t, file)) {
			continue
		}
		found = append(found, folder)
		if !slices.ContainsFunc(raced, func(pattern string) bool {
			below, all := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
			return folder == below || all && strings.HasPrefix(folder, below+"/")
		}) {
			t.Errorf("%s has a lock, but make race does not run its tests: make race runs %s", folder, raced)
		}
	}
	if len(found) < 10 {
		t.Errorf("only the packages %v have a lock", found)
	}
}

// setting returns a setting in the Makefile for tests.
func setting(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindStringSubmatch(text(t, "tools", "make", "tests.mk"))
	if found == nil {
		t.Fatalf("tools/make/tests.mk has no setting %s", name)
	}
	return found[1]
}
