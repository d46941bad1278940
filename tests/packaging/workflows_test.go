package packaging

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workflows is a pattern that matches the project's GitHub workflows.
const workflows = ".github/workflows/*"

// workflow contains the parts of a GitHub workflow that the tests use.
type workflow struct {
	Jobs map[string]struct {
		Strategy struct{ Matrix struct{ Target []string } }
		Steps    []struct{ Run string }
	}
}

// TestDependabotWatchesEveryFolder fails if dependabot.yml has no entry for the directory of a go.mod file or a Dockerfile, or if an
// entry's directory has no such file.
func TestDependabotWatchesEveryFolder(t *testing.T) {
	config := read[struct {
		Updates []struct {
			PackageEcosystem string `json:"package-ecosystem"`
			Directory        string
			Directories      []string
		}
	}](t, ".github", "dependabot.yml")
	entries := map[string][]string{}
	for _, update := range config.Updates {
		ecosystem := update.PackageEcosystem
		entries[ecosystem] = append(entries[ecosystem], update.Directories...)
		if update.Directory != "" {
			entries[ecosystem] = append(entries[ecosystem], update.Directory)
		}
	}
	for ecosystem, folders := range map[string][]string{"gomod": foldersOf(t, "go.mod"), "docker": foldersOf(t, "*Dockerfile")} {
		slices.Sort(entries[ecosystem])
		if got := entries[ecosystem]; !slices.Equal(got, folders) {
			t.Errorf(".github/dependabot.yml lists for %s\n%s\nbut the directories of the project are\n%s",
				ecosystem, strings.Join(got, "\n"), strings.Join(folders, "\n"))
		}
	}
}

// TestActionsArePinnedByCommit checks that workflows do not run code that the owner of a tag could replace. Workflows must also state the
// version in a comment for readers.
func TestActionsArePinnedByCommit(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range filesAt(t, workflows) {
		for _, uses := range regexp.MustCompile(`(?m)^[ -]*uses:\s*(.*)$`).FindAllStringSubmatch(text(t, file), -1) {
			if !pinned.MatchString(uses[1]) {
				t.Errorf("%s uses %s, want OWNER/ACTION@COMMIT # vVERSION", file, uses[1])
			}
		}
	}
}

// foldersOf returns the directories that contain a file whose name matches a path.Match pattern, in the format that Dependabot uses.
func foldersOf(t *testing.T, pattern string) []string {
	t.Helper()
	var folders []string
	for _, file := range filesNamed(t, pattern) {
		folders = append(folders, path.Join("/", path.Dir(file)))
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// filesAt returns the project files whose paths match a path.Match pattern. The test fails if there are no such files.
func filesAt(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS(inProject()), pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return files
}

// filesNamed returns the project files whose names match a path.Match pattern, except build results.
func filesNamed(t *testing.T, pattern string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(inProject()), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "dist", "site/node_modules", "site/.vitepress/dist"}, file) {
			return fs.SkipDir
		}
		if matched, err := path.Match(pattern, entry.Name()); err != nil || !matched || entry.IsDir() {
			return err
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestWorkflowsRunTheChecks compares the make targets in the workflows with the targets in the Makefile and in .ci/run.
func TestWorkflowsRunTheChecks(t *testing.T) {
	run, defined := workflowTargets(t), makeTargets(t)
	for _, target := range run {
		if !slices.Contains(defined, target) {
			t.Errorf("a workflow runs 'make %s', which is not a target of the Makefile", target)
		}
	}
	checks := regexp.MustCompile(`\b(?:check|either) \S+ (?:make )?([a-z0-9-]+)`).FindAllStringSubmatch(text(t, ".ci", "run"), -1)
	if len(checks) == 0 {
		t.Error(".ci/run has no checks")
	}
	for _, check := range checks {
		if target := check[1]; slices.Contains(defined, target) && !slices.Contains(run, target) {
			t.Errorf(".ci/run runs 'make %s', but no workflow does", target)
		}
	}
}

// workflowTargets returns the make targets that the workflows run, either in commands or through a matrix.
func workflowTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	for _, file := range filesAt(t, workflows) {
		for _, job := range read[workflow](t, file).Jobs {
			targets = append(targets, job.Strategy.Matrix.Target...)
			for _, step := range job.Steps {
				for _, command := range regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`).FindAllStringSubmatch(step.Run, -1) {
					targets = append(targets, command[1])
				}
			}
		}
	}
	if len(targets) == 0 {
		t.Fatal("the workflows run no make target")
	}
	return targets
}

// makeTargets returns the targets that are defined in the Makefile and in the files that it includes.
func makeTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	files := []string{"Makefile"}
	for _, include := range regexp.MustCompile(`(?m)^-?include (.*)$`).FindAllStringSubmatch(text(t, "Makefile"), -1) {
		for pattern := range strings.FieldsSeq(include[1]) {
			files = append(files, filesAt(t, pattern)...)
		}
	}
	for _, file := range files {
		for _, rule := range regexp.MustCompile(`(?m)^([a-z][a-z0-9 -]*):(?:[^=]|$)`).FindAllStringSubmatch(text(t, file), -1) {
			targets = append(targets, strings.Fields(rule[1])...)
		}
	}
	return targets
}
