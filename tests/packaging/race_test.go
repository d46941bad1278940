package packaging

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
