package packaging

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workflow contains the parts of a GitHub workflow that the tests use.
type workflow struct {
	Jobs map[string]struct {
		Strategy struct{ Matrix struct{ Target []string } }
		Steps    []struct{ Run string }
	}
}

// TestDependabotWatchesEveryFolder fails for a go.mod or a Dockerfile without an entry, and for an entry without such a file.
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
	for ecosystem, folders := range map[string][]string{"gomod": moduleFolders(t), "docker": dockerfileFolders(t)} {
		slices.Sort(entries[ecosystem])
		if got := entries[ecosystem]; !slices.Equal(got, folders) {
			t.Errorf(".github/dependabot.yml lists for %s\n%s\nbut the folders of the project are\n%s",
				ecosystem, strings.Join(got, "\n"), strings.Join(folders, "\n"))
		}
	}
}

// TestActionsArePinnedByCommit checks that workflows run no code that the owner of a tag can replace, and name the version for people.
func TestActionsArePinnedByCommit(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range workflows(t) {
		for _, uses := range regexp.MustCompile(`(?m)^[ -]*uses:\s*(.*)$`).FindAllStringSubmatch(text(t, file), -1) {
			if !pinned.MatchString(uses[1]) {
				t.Errorf("%s uses %s, want OWNER/ACTION@COMMIT # vVERSION", file, uses[1])
			}
		}
	}
}

// moduleFolders returns the folders that contain a go.mod, as Dependabot writes them.
func moduleFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	for _, file := range filesNamed(t, "go.mod") {
		folders = append(folders, path.Join("/", path.Dir(file)))
	}
	slices.Sort(folders)
	return folders
}

// dockerfileFolders returns the folders that contain a Dockerfile, as Dependabot writes them.
func dockerfileFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	for file := range dockerfiles(t) {
		folders = append(folders, path.Join("/", path.Dir(file)))
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// filesNamed returns the files in the project whose names match a pattern of path.Match, without those that are built.
func filesNamed(t *testing.T, pattern string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(inProject()), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "dist"}, file) {
			return fs.SkipDir
		}
		if matched, err := path.Match(pattern, entry.Name()); err != nil || !matched {
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

// TestWorkflowsRunTheChecks compares the make targets of the workflows with those of the Makefile and of .ci/run.
func TestWorkflowsRunTheChecks(t *testing.T) {
	run, defined := workflowTargets(t), makeTargets(t)
	for _, target := range run {
		if !slices.Contains(defined, target) {
			t.Errorf("a workflow runs 'make %s', which is not a target of the Makefile", target)
		}
	}
	checks := regexp.MustCompile(`(?m)^check \S+ (?:make )?([a-z0-9-]+)`).FindAllStringSubmatch(text(t, ".ci", "run"), -1)
	if len(checks) == 0 {
		t.Error(".ci/run has no checks")
	}
	for _, check := range checks {
		if target := check[1]; slices.Contains(defined, target) && !slices.Contains(run, target) {
			t.Errorf(".ci/run runs 'make %s', but no workflow does", target)
		}
	}
}

// workflowTargets returns the make targets that workflows run, in commands or by a matrix.
func workflowTargets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(inProject(".github", "workflows", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	var targets []string
	for _, file := range files {
		for _, job := range read[workflow](t, ".github", "workflows", filepath.Base(file)).Jobs {
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

// makeTargets returns the targets of the Makefile and of the files that it includes.
func makeTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	files := []string{inProject("Makefile")}
	for _, include := range regexp.MustCompile(`(?m)^-?include (.*)$`).FindAllStringSubmatch(text(t, "Makefile"), -1) {
		for pattern := range strings.FieldsSeq(include[1]) {
			included, err := filepath.Glob(inProject(pattern))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, included...)
		}
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range regexp.MustCompile(`(?m)^([a-z][a-z0-9 -]*):(?:[^=]|$)`).FindAllStringSubmatch(string(content), -1) {
			targets = append(targets, strings.Fields(rule[1])...)
		}
	}
	return targets
}
