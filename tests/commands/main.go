// Commands checks each fence (fenced code block) that contains commands in the documentation. Either a test runs the commands, or the
// mark <!-- not run: REASON --> precedes the fence. The program prints the number of marks for each reason.
//
// A test reads commands with a function named Documented, DocumentedSection, or DocumentedPage. The name may start with a lowercase letter.
// The arguments are constants: the page and, unless the test reads the whole page, the words before the fence or the heading. The program
// finds these calls in the source files.
//
// usage: go run ./tests/commands      (from the root of the project)
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/tests/support/fences"
)

func main() {
	if err := run(os.Stdout, os.DirFS(".")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// place is the position of a fence in the documentation.
type place struct {
	page string
	line int
}

// check is the state of a run.
type check struct {
	pages    map[string]string
	byTests  map[place]bool
	marks    map[string]int
	run      int
	problems []error
}

func (c *check) fail(format string, arguments ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, arguments...))
}

// note records that a test runs the fences that a call reads.
func (c *check) note(read call) {
	page, exists := c.pages[read.page]
	var found []fences.Fence
	switch read.kind {
	case "page":
		found = fences.Parse(page)
	case "section":
		found = fences.Section(page, read.words)
	default:
		found = fences.After(page, read.words)
	}
	if !exists || len(found) == 0 || read.words == "" && read.kind != "page" {
		c.fail("%s: %s has no commands after %q", read.at, read.page, read.words)
	}
	for _, f := range found {
		if f.Reason == "" || read.kind == "" { // a test that reads a page or a section skips marked fences
			c.byTests[place{read.page, f.Line}] = true
		}
	}
}

// fence checks that a fence is either run or marked.
func (c *check) fence(page string, f *fences.Fence) {
	isRun := c.byTests[place{page, f.Line}]
	switch {
	case !f.HasCommands():
		if f.Reason != "" {
			c.fail("%s:%d: a fence without commands needs no mark", page, f.Line)
		}
	case f.Reason == "" && isRun:
		c.run++
	case f.Reason == "":
		c.fail("%s:%d: no test runs these commands: run them in a suite, or mark them with <!-- not run: REASON -->, one of: %s", page, f.Line,
			strings.Join(slices.Sorted(maps.Keys(reasons())), ", "))
	case isRun:
		c.fail("%s:%d: a test runs these commands: remove the mark", page, f.Line)
	default:
		c.marks[f.Reason]++
		if evidence, known := reasons()[f.Reason]; !known {
			c.fail("%s:%d: %q is not a valid reason", page, f.Line, f.Reason)
		} else if !evidence.MatchString(f.Text) {
			c.fail("%s:%d: %q is not the reason: nothing in these commands matches %s", page, f.Line, f.Reason, evidence)
		}
	}
}

// run checks all fences, and prints how many of them are run by tests and how many are marked.
func run(out io.Writer, root files) error {
	c := check{byTests: map[place]bool{}, marks: map[string]int{}}
	var err error
	if c.pages, err = contents(root, ".md"); err != nil {
		return err
	}
	reads, err := calls(root)
	if err != nil {
		return err
	}
	for _, read := range reads {
		c.note(read)
	}
	written, marked := 0, 0
	for _, page := range slices.Sorted(maps.Keys(c.pages)) {
		written += len(regexp.MustCompile(`(?m)^ *<!-- not run: `).FindAllString(c.pages[page], -1))
		for _, f := range fences.Parse(c.pages[page]) {
			c.fence(page, &f)
		}
	}
	for _, count := range c.marks {
		marked += count
	}
	if written != marked {
		c.fail("there are %d marks, but only %d are in the line above a fence", written, marked)
	}
	_, _ = fmt.Fprintf(out, "commands in the documentation: tests run %d fences, and do not run %d:\n", c.run, marked)
	for _, reason := range slices.Sorted(maps.Keys(c.marks)) {
		_, _ = fmt.Fprintf(out, "  %3d  %s\n", c.marks[reason], reason)
	}
	return errors.Join(c.problems...)
}

// reasons returns the reasons that a mark can give. The marked commands must match the regular expression of the reason. The use of
// kubectl, kubectl echo, curl, helm, or make is not a valid reason, because the suites can run these programs.
func reasons() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"makes a cluster":      regexp.MustCompile(`\bmake (demo|cluster-up)\b|\bkind load\b`),
		"internet":             regexp.MustCompile(`\bdocker run\b|\boci://|@latest\b|https?://(?:shop\.example\.com|github\.com)\b`),
		"registry":             regexp.MustCompile(`\bREGISTRY=`),
		"OpenShift":            regexp.MustCompile(`(?m)^oc \b|\bopenshift\.yaml\b`),
		"Argo CD or Flux":      regexp.MustCompile(`\bargocd\b|\bflux\b`),
		"identity provider":    regexp.MustCompile(`\$TOKEN\b|\boidc\b`),
		"release":              regexp.MustCompile(`\bmake (release|push-release|next-version)\b`),
		"changes the checkout": regexp.MustCompile(`\boperator-sdk create\b`),
		"changes the machine":  regexp.MustCompile(`\bkrew\b|\bgo install\b|(?i)\bkrew_root\b|^#!`),
		"is a suite":           regexp.MustCompile(`\bgo test\b|\bmake (e2e|benchmark)`),
		"other program":        regexp.MustCompile(`\bwebsocat\b|\bnc `),
	}
}
