package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// alerts returns the alerts of the operator.
func alerts(root string) ([]string, error) {
	return matches(root, `(?m)^\s*- alert: (\w+)$`, "internal/monitoring/alerts.yaml")
}

// images returns the Dockerfiles of the images that a release has.
func images(root string) ([]string, error) {
	return tracked(root, "Dockerfile", "*Dockerfile", ":!tests")
}

// modules returns the go.mod files.
func modules(root string) ([]string, error) {
	return tracked(root, "go.mod", "*/go.mod")
}

// tracked returns the files of the repository that match some patterns of git.
func tracked(root string, patterns ...string) ([]string, error) {
	list, err := exec.Command("git", append([]string{"-C", root, "ls-files", "--"}, patterns...)...).Output()
	return strings.Fields(string(list)), err
}

// targets returns the targets of make that its help shows.
func targets(root string) ([]string, error) {
	makefiles, err := makefiles(root)
	if err != nil {
		return nil, err
	}
	return matches(root, `(?m)^([a-z0-9][a-z0-9-]*):.*## `, makefiles...)
}

// pageOfTarget returns the page of a target: the file whose help text `make help` shows.
func pageOfTarget(root string) func(string) string {
	return func(name string) string {
		makefiles, _ := makefiles(root)
		for _, makefile := range makefiles {
			if found, _ := matches(root, `(?m)^(`+regexp.QuoteMeta(name)+`):.*## `, makefile); len(found) > 0 {
				return makefile
			}
		}
		return "Makefile"
	}
}

// makefiles returns the Makefile and its parts.
func makefiles(root string) ([]string, error) {
	parts, err := filepath.Glob(filepath.Join(root, "tools/make/*.mk"))
	all := []string{"Makefile"}
	for _, part := range parts {
		name, _ := filepath.Rel(root, part)
		all = append(all, name)
	}
	return all, err
}

// matches returns what the group of an expression matches in some files.
func matches(root, expression string, files ...string) ([]string, error) {
	var all []string
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		for _, found := range regexp.MustCompile(expression).FindAllSubmatch(content, -1) {
			all = append(all, string(found[1]))
		}
	}
	return all, nil
}
