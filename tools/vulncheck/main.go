// vulncheck determines from the govulncheck results for the shipped programs whether they have known vulnerabilities.
//
// usage: vulncheck EXCEPTIONS OWN THIRD-PARTY
//
// EXCEPTIONS is a YAML file. OWN and THIRD-PARTY are folders with govulncheck's JSON output, one file per scan: OWN for the project's
// programs, and THIRD-PARTY for other projects' programs that ship with them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: vulncheck EXCEPTIONS OWN THIRD-PARTY")
		os.Exit(2)
	}
	scans, exceptions, err := read(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fail(err.Error())
	}
	now := time.Now()
	if warning := outdated(scans, now); warning != "" {
		fmt.Println("vulncheck: warning: " + warning)
	}
	if problems := decide(scans, exceptions, now); len(problems) > 0 {
		fail(fmt.Sprintf("%d problems:\n%s", len(problems), strings.Join(problems, "\n")))
	}
	fmt.Printf("vulncheck: no known vulnerabilities in %d scans, except for %d exceptions\n", len(scans), len(exceptions))
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "vulncheck: "+message)
	os.Exit(1)
}

func read(exceptionsFile, own, thirdParty string) ([]scan, []exception, error) {
	content, err := os.ReadFile(exceptionsFile)
	if err != nil {
		return nil, nil, err
	}
	exceptions, err := parseExceptions(content)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", exceptionsFile, err)
	}
	scans, err := readScans(own, true)
	if err != nil {
		return nil, nil, err
	}
	others, err := readScans(thirdParty, false)
	return append(scans, others...), exceptions, err
}

// readScans reads the files in a folder. It fails if there are none.
func readScans(folder string, own bool) ([]scan, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
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
