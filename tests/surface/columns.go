package main

import (
	"path"
	"slices"
)

// column is a kind of name that users see.
type column struct {
	title string
	// page returns the file that documents a name, relative to the root.
	page  func(name string) string
	names []string
}

// reader returns the names of a column in the tree below a root.
type reader func(root string) ([]string, error)

// read returns all columns of a tree, each sorted and without duplicates.
func read(root string) ([]column, error) {
	var all []column
	for _, c := range []struct {
		title string
		page  func(string) string
		read  reader
	}{
		{"Fields of an Echo", one("docs/api.md"), fields},
		{"Flags", pageOfFlag, flags},
		{"Environment variables", pageOfVariable, variables},
		{"Controls of the echo server", one("docs/echo-server.md"), controls},
		{"Headers of the echo server", one("docs/echo-server.md"), headers},
		{"Metrics", pageOfMetric, metrics},
		{"Alerts", func(name string) string { return path.Join("docs/runbooks", name+".md") }, alerts},
		{"Reasons of conditions and events", one("docs/echo.md"), reasons},
		{"Facts of pathcheck", one("docs/gateways.md"), facts},
		{"Images", one("docs/releasing.md"), images},
		{"Modules", func(name string) string { return name }, modules},
		{"Targets of make", pageOfTarget(root), targets},
	} {
		names, err := c.read(root)
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		all = append(all, column{c.title, c.page, slices.Compact(names)})
	}
	return all, nil
}

// one returns the page of a column whose names are all in one.
func one(page string) func(string) string { return func(string) string { return page } }
