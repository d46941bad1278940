// Words checks the vocabulary of docs and comments, and the names of unit tests. It fails if a text contains a term that the project has
// replaced, if 1,000 words contain more markers of translated English than limits.json allows (these limits may only be lowered), or if the
// name of a unit test does not start with the name of a function, method, or type.
//
// usage: go run ./tests/words
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed limits.json
var limits []byte

func main() {
	if err := check(context.Background(), os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counts are the words and the markers of a group.
type counts struct{ words, markers int }

// rate is the number of markers in 1,000 words.
func (c counts) rate() float64 { return 1000 * float64(c.markers) / float64(max(c.words, 1)) }

// check writes the counts of each group, and returns the problems as an error.
func check(ctx context.Context, out io.Writer, root string) error {
	var allowed map[group]float64
	if err := json.Unmarshal(limits, &allowed); err != nil {
		return fmt.Errorf("limits.json: %w", err)
	}
	found := map[group]counts{}
	var names testNames
	var problems []error
	err := eachText(ctx, root, func(file, content string) error {
		if file != "CHANGELOG.md" {
			problems = append(problems, replaced(file, content, replacedNames())...)
		}
		if strings.HasSuffix(file, ".go") {
			if err := names.add(file, content); err != nil {
				return err
			}
		}
		kind, read := groupOf(file)
		if !read {
			return nil
		}
		text, err := prose(kind, content)
		c := found[kind]
		found[kind] = counts{words: c.words + len(strings.Fields(text)), markers: c.markers + len(matches(text, markers()))}
		problems = append(problems, replaced(file, text, replacedWords())...)
		return err
	})
	if err != nil {
		return err
	}
	for _, kind := range groups() {
		c := found[kind]
		_, _ = fmt.Fprintf(out, "%s: %d markers in %d words, %.2f per 1,000 (limit %.2f)\n", kind, c.markers, c.words, c.rate(), allowed[kind])
		if c.rate() > allowed[kind] {
			problems = append(problems, fmt.Errorf("%s: reword some of: %s", kind, strings.Join(markers(), ", ")))
		}
	}
	return errors.Join(append(problems, names.problems()...)...)
}

// replaced returns an error for each occurrence of a replaced term in the text of a file.
func replaced(file, text string, terms map[string]string) []error {
	var problems []error
	for _, at := range matches(text, slices.Sorted(maps.Keys(terms))) {
		term := text[at[0]:at[1]]
		instead := terms[term]
		if instead == "" {
			instead = terms[strings.ToLower(term)]
		}
		problems = append(problems, fmt.Errorf("%s:%d: %q: write %q", file, 1+strings.Count(text[:at[0]], "\n"), term, instead))
	}
	return problems
}

// matches returns the positions of the terms in a string, as whole words in upper or lower case.
func matches(text string, terms []string) [][]int {
	quoted := make([]string, len(terms))
	for i, term := range terms {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(term), " ", `\s+`)
	}
	return regexp.MustCompile(`(?i)\b(?:`+strings.Join(quoted, "|")+`)\b`).FindAllStringIndex(text, -1)
}

// eachText calls do for each tracked file, except the files in this directory.
func eachText(ctx context.Context, root string, do func(file, content string) error) error {
	command := exec.CommandContext(ctx, "git", "ls-files", "-z")
	command.Dir = root
	listed, err := command.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for file := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) || strings.HasPrefix(file, "tests/words/") { // a deletion may not be committed yet
			continue
		} else if err != nil {
			return err
		}
		if err := do(file, string(content)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
