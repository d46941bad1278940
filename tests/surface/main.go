// Surface writes the ledger of everything that users of the project can name: fields, flags, environment variables, headers, metrics,
// alerts, reasons, facts, images, chart values, modules, and targets, each with the page that documents it. Surface reads the sources but
// does not run them, so it also works on the source tree of an earlier commit.
//
// usage: go run ./tests/surface [DIRECTORY] (by default, the current directory)
//
// The command fails if a page does not contain a name that the page should document.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const introduction = `<!-- Generated from the sources by ` + "`make surface`" + `. -->
# Surface

Each name that users can come to depend on, with the page that documents it.
A change that adds a line here needs the reasons that [scope.md](../explanation/scope.md) asks for.

| names | count |
|---|---|
`

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

// run writes the whole ledger for the source tree below a root directory, and then returns an error if any name is undocumented.
func run(ctx context.Context, out io.Writer, root string) error {
	columns, err := read(ctx, root)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(introduction)
	for _, c := range columns {
		fmt.Fprintf(&text, "| %s | %d |\n", c.title, len(c.names))
	}
	var problems []error
	for _, c := range columns {
		fmt.Fprintf(&text, "\n## %s\n\n| name | documented in |\n|---|---|\n", c.title)
		for _, n := range c.names {
			fmt.Fprintf(&text, "| `%s` | [%s](%s) |\n", n.text, n.page, link(n.page))
			problems = append(problems, n.check(root))
		}
	}
	_, err = io.WriteString(out, text.String())
	return errors.Join(append(problems, err)...)
}

// link returns the path of a page, relative to the ledger's directory.
func link(page string) string {
	if name, ok := strings.CutPrefix(page, "docs/reference/"); ok {
		return name
	}
	if name, ok := strings.CutPrefix(page, "docs/"); ok {
		return "../" + name
	}
	return "../../" + page
}

// name is a name that users can use, and page is the page that documents it. end is the spelling of the name on the page.
type name struct{ text, page, end string }

// check returns an error if the page does not document the name.
func (n name) check(root string) error {
	page, err := os.ReadFile(filepath.Join(root, n.page))
	if err == nil && !strings.Contains(string(page), n.end) {
		err = fmt.Errorf("%s is not documented in %s: add %s to the page", n.text, n.page, n.end)
	}
	return err
}
