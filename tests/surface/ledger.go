package main

import (
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
A change that adds a line here needs the reasons that [scope.md](explanation/scope.md) asks for.
`

// writeCounts writes how many names each column has.
func writeCounts(out io.Writer, columns []column) error {
	_, err := fmt.Fprintf(out, "| names | count |\n|---|---|\n")
	for _, c := range columns {
		_, problem := fmt.Fprintf(out, "| %s | %d |\n", c.title, len(c.names))
		err = errors.Join(err, problem)
	}
	return err
}

// writeLedger writes the page docs/surface.md.
func writeLedger(out io.Writer, columns []column) error {
	_, err := fmt.Fprint(out, introduction+"\n")
	err = errors.Join(err, writeCounts(out, columns))
	for _, c := range columns {
		_, problem := fmt.Fprintf(out, "\n## %s\n\n| name | documented in |\n|---|---|\n", c.title)
		err = errors.Join(err, problem)
		for _, name := range c.names {
			page := c.page(name)
			_, problem := fmt.Fprintf(out, "| `%s` | [%s](%s) |\n", name, page, link(page))
			err = errors.Join(err, problem)
		}
	}
	return err
}

// link returns the path of a page from the folder of the ledger.
func link(page string) string {
	if name, ok := strings.CutPrefix(page, "docs/"); ok {
		return name
	}
	return "../" + page
}

// undocumented returns an error that lists the names that their pages do not contain.
func undocumented(root string, columns []column) error {
	var problems []error
	for _, c := range columns {
		for _, name := range c.names {
			text, err := os.ReadFile(filepath.Join(root, c.page(name)))
			if err == nil && !isDocumented(string(text), c.title, name) {
				err = fmt.Errorf("%s: %s is not documented in %s", c.title, name, c.page(name))
			}
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// isDocumented reports whether a page names what it documents. A module is documented by the comment that it begins with.
func isDocumented(page, title, name string) bool {
	if title == "Modules" {
		return strings.HasPrefix(page, "// ")
	}
	return strings.Contains(page, written(title, name))
}

// written returns how a page writes a name: the last part of what the title makes clear.
func written(title, name string) string {
	switch title {
	case "Fields of an Echo":
		return "`" + strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "[]") + "`"
	case "Flags":
		return name[strings.LastIndex(name, " ")+1:]
	case "Controls of the echo server":
		return strings.TrimPrefix(name, "echo.")
	case "Targets of make":
		return name + ":"
	}
	return name
}
