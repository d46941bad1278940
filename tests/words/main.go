// Words checks the vocabulary of docs and comments: it fails for a term that the project has replaced, and for more markers of translated
// English in 1,000 words than limits.json allows. A limit may only be lowered.
//
// usage: go run ./tests/words [DIRECTORY]      (the current one if none is given)
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(context.Background(), os.Stdout, root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counts are the words and the markers of a group.
type counts struct{ words, markers int }

// rate is the number of markers in 1,000 words.
func (c counts) rate() float64 { return 1000 * float64(c.markers) / float64(max(c.words, 1)) }

// run writes the counts of each group, and returns what is wrong.
func run(ctx context.Context, out io.Writer, root string) error {
	var allowed map[group]float64
	if err := json.Unmarshal(limits, &allowed); err != nil {
		return fmt.Errorf("limits.json: %w", err)
	}
	command := exec.CommandContext(ctx, "git", "ls-files", "-z")
	command.Dir = root
	listed, err := command.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	found := map[group]counts{}
	var problems []error
	for file := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		if strings.HasPrefix(file, "tests/words/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) { // deleted, and not committed yet
			continue
		} else if err != nil {
			return err
		}
		if file != "CHANGELOG.md" {
			problems = append(problems, replaced(file, string(content), replacedNames())...)
		}
		kind, read := groupOf(file)
		if !read {
			continue
		}
		text, err := prose(kind, string(content))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		c := found[kind]
		found[kind] = counts{words: c.words + len(strings.Fields(text)), markers: c.markers + len(matches(text, markers()))}
		problems = append(problems, replaced(file, text, replacedWords())...)
	}
	for _, kind := range groups() {
		c := found[kind]
		_, _ = fmt.Fprintf(out, "%s: %d markers in %d words, %.2f in 1,000 of at most %.2f\n", kind, c.markers, c.words, c.rate(), allowed[kind])
		if c.rate() > allowed[kind] {
			problems = append(problems, fmt.Errorf("%s: reword some of: %s", kind, strings.Join(markers(), ", ")))
		}
	}
	return errors.Join(problems...)
}

// replaced returns an error for each of the terms in the text of a file.
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

// matches returns where the terms are in a text, as whole words of any case.
func matches(text string, terms []string) [][]int {
	quoted := make([]string, len(terms))
	for i, term := range terms {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(term), " ", `\s+`)
	}
	return regexp.MustCompile(`(?i)\b(?:`+strings.Join(quoted, "|")+`)\b`).FindAllStringIndex(text, -1)
}
