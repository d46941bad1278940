package packaging

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLinksWithinTheDocumentationWork checks links to files in the project, and to headings on pages.
func TestLinksWithinTheDocumentationWork(t *testing.T) {
	checked := 0
	for page, content := range documents(t) {
		for _, l := range links(page, content) {
			checked++
			if problem := brokenLink(l); problem != "" {
				t.Errorf("%s links to %s#%s: %s", page, l.file, l.heading, problem)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were found", checked)
	}
}

// TestNamedPagesExist checks references to the documentation in other files: URLs and page names in messages, manifests, the dashboard,
// console objects, programs, scripts, and comments.
func TestNamedPagesExist(t *testing.T) {
	checked := map[string]int{}
	for _, file := range filesNamed(t, "*") {
		for _, l := range namedPages(text(t, file)) {
			checked[path.Ext(file)]++
			l.file = strings.Replace(l.file, "/NAME.md", "", 1)
			if problem := brokenLink(l); problem != "" {
				t.Errorf("%s names %s#%s: %s", file, l.file, l.heading, problem)
			}
		}
	}
	for ending, least := range map[string]int{".go": 10, ".yaml": 10, ".json": 1, "": 3} {
		if checked[ending] < least {
			t.Errorf("only %d pages were found in files that end in %q", checked[ending], ending)
		}
	}
}

// TestPagesAreReachableFromTheReadme checks that links lead from the README to every page, because no one finds an unlinked page.
func TestPagesAreReachableFromTheReadme(t *testing.T) {
	all, reached := documents(t), map[string]bool{}
	var visit func(page string)
	visit = func(page string) {
		if reached[page] {
			return
		}
		reached[page] = true
		for _, l := range links(page, all[page]) {
			visit(l.file)
		}
	}
	visit("README.md")
	for page := range all {
		if !reached[page] {
			t.Errorf("no link leads from README.md to %s", page)
		}
	}
}

// link is a link to a file and to a heading in that file. The path of the file is relative to the project's root directory.
type link struct{ file, heading string }

// links returns a page's links to files in the project.
func links(page, content string) []link {
	var all []link
	text := regexp.MustCompile("`[^`\n]*`").ReplaceAllString(withoutBlocks(content), "")
	for _, found := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
		if regexp.MustCompile(`^[a-z]+:`).MatchString(found[1]) {
			continue
		}
		file, heading, _ := strings.Cut(found[1], "#")
		target := page
		if file != "" {
			target = filepath.Join(filepath.Dir(page), file)
		}
		all = append(all, link{target, heading})
	}
	return all
}

// namedPages returns the project files that a string references by URL, and the pages that it references by path.
func namedPages(text string) []link {
	var all []link
	page := regexp.MustCompile(`https://github\.com/echo-operator/echo-operator(?:/(?:blob|tree)/main/([\w./-]*\w))?(?:#([\w-]+))?|` +
		`\b(docs/[\w/-]+\.md)\b`)
	for _, found := range page.FindAllStringSubmatch(text, -1) {
		file, heading := found[1]+found[3], found[2]
		if file == "" && heading != "" {
			file = "README.md"
		}
		if file != "" {
			all = append(all, link{file, heading})
		}
	}
	return all
}

// brokenLink describes what is wrong with a link, or returns "".
func brokenLink(l link) string {
	if l.heading == "" {
		if _, err := os.Stat(inProject(l.file)); err != nil {
			return err.Error()
		}
		return ""
	}
	target, err := os.ReadFile(inProject(l.file))
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(headings(string(target)), l.heading) {
		return "the heading does not exist"
	}
	return ""
}

// headings returns the URL fragments of a page's headings, as GitHub generates them.
func headings(page string) []string {
	var all []string
	seen := map[string]int{}
	for _, heading := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(withoutBlocks(page), -1) {
		name := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		name = strings.ReplaceAll(name, " ", "-")
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name]-1)
		}
		all = append(all, name)
	}
	return all
}

// withoutBlocks returns a page without its code blocks.
func withoutBlocks(page string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
}
