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
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	switch {
	case len(os.Args) == 5 && os.Args[1] == "openvex":
		printOpenVEX(os.Args[2], os.Args[3], os.Args[4])
		return
	case len(os.Args) != 4:
		fmt.Fprintln(os.Stderr, "usage: vulncheck EXCEPTIONS OWN THIRD-PARTY | openvex EXCEPTIONS VERSION CREATED")
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

func printOpenVEX(exceptionsFile, version, created string) {
	exceptions, err := readExceptions(exceptionsFile)
	if err != nil {
		fail(err.Error())
	}
	written, err := openVEX(exceptions, version, created)
	if err != nil {
		fail(err.Error())
	}
	fmt.Println(string(written))
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

func read(exceptionsFile, own, thirdParty string) ([]scan, []exception, error) {
	exceptions, err := readExceptions(exceptionsFile)
	if err != nil {
		return nil, nil, err
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
