// vulncheck determines from the govulncheck results for the shipped programs whether they have known vulnerabilities.
//
// usage: vulncheck EXCEPTIONS OWN THIRD-PARTY
//
//	vulncheck openvex EXCEPTIONS VERSION CREATED      print the exceptions as OpenVEX
//
// EXCEPTIONS is a YAML file. OWN and THIRD-PARTY are folders with govulncheck's JSON output, one file per scan: OWN for the project's
// programs, and THIRD-PARTY for other projects' programs that ship with them.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, arguments []string) error {
	switch {
	case len(arguments) == 4 && arguments[0] == "openvex":
		return printOpenVEX(out, arguments[1], arguments[2], arguments[3])
	case len(arguments) == 3:
		return check(out, arguments[0], arguments[1], arguments[2], time.Now())
	}
	return errors.New("usage: vulncheck EXCEPTIONS OWN THIRD-PARTY | openvex EXCEPTIONS VERSION CREATED")
}

func check(out io.Writer, exceptionsFile, own, thirdParty string, now time.Time) error {
	exceptions, errExceptions := readExceptions(exceptionsFile)
	scans, errOwn := readScans(own, true)
	others, errOthers := readScans(thirdParty, false)
	if err := errors.Join(errExceptions, errOwn, errOthers); err != nil {
		return err
	}
	scans = append(scans, others...)
	if warning := outdated(scans, now); warning != "" {
		_, _ = fmt.Fprintln(out, "vulncheck: warning: "+warning)
	}
	if problems := decide(scans, exceptions, now); len(problems) > 0 {
		return fmt.Errorf("%d problems:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	_, err := fmt.Fprintf(out, "vulncheck: no known vulnerabilities in %d scans, except for %d exceptions\n", len(scans), len(exceptions))
	return err
}

func printOpenVEX(out io.Writer, exceptionsFile, version, created string) error {
	exceptions, err := readExceptions(exceptionsFile)
	if err != nil {
		return err
	}
	written, err := openVEX(exceptions, version, created)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, string(written))
	return err
}

func readExceptions(file string) ([]exception, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	exceptions, err := parseExceptions(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return exceptions, nil
}

// readScans reads the files in a folder. It fails if there are none.
func readScans(folder string, own bool) ([]scan, error) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.json")) // Glob returns an error only if the pattern is malformed
	if len(files) == 0 {
		return nil, fmt.Errorf("%s contains no scans", folder)
	}
	var scans []scan
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		read, err := parseScan(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		read.name = filepath.Base(folder) + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
		read.own = own
		scans = append(scans, read)
	}
	return scans, nil
}
