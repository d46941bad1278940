// Surface writes the ledger of what users of the project can name: fields, flags, environment variables, headers, metrics, alerts, reasons,
// facts, images, modules and targets, each with the page that documents it. It reads the sources and runs none of them, so it also reads
// the tree of an earlier commit.
//
// usage: go run ./tests/surface [-counts] [DIRECTORY]      (the current one if none is given)
//
// It fails if a name is not in the page that documents it. With -counts it writes only how many names there are, and checks nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	counts := flag.Bool("counts", false, "write only how many names there are, and check nothing")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	if err := run(os.Stdout, root, *counts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, root string, onlyCounts bool) error {
	columns, err := read(root)
	if err != nil {
		return err
	}
	if onlyCounts {
		return writeCounts(out, columns)
	}
	return errors.Join(undocumented(root, columns), writeLedger(out, columns))
}
