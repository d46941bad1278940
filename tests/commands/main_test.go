package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestRun checks example pages, with a suite that reads the commands in the "## Run" section of a.md.
func TestRun(t *testing.T) {
	const suite = "package a\n\nconst page = \"a.md\"\n\nfunc a() { x.Documented(page, \"## Run\") }\n"
	const mark = "<!-- not run: OpenShift -->\n"
	const isRun = "## Run\n\n```sh\nkubectl get pods\n```\n\n"
	for name, test := range map[string]struct{ page, suite, want string }{
		"run":                     {isRun, suite, ""},
		"neither run nor marked":  {isRun + "```sh\ncurl localhost\n```\n", suite, "a.md:7: no test runs"},
		"a session":               {isRun + "```text\n$ curl localhost\nok\n```\n", suite, "a.md:7: no test runs"},
		"output":                  {isRun + "```text\nok\n```\n", suite, ""},
		"marked":                  {isRun + mark + "```sh\noc get pods\n```\n", suite, ""},
		"marked in a list":        {isRun + "1. One:\n   <!-- not run: OpenShift -->\n   ```sh\n   oc get pods\n   ```\n", suite, ""},
		"without a reason for it": {isRun + mark + "```sh\nkubectl get pods\n```\n", suite, `"OpenShift" is not the reason`},
		"an unknown reason":       {isRun + "<!-- not run: too long -->\n```sh\noc get pods\n```\n", suite, `"too long" is not a valid reason`},
		"run, and marked":         {strings.Replace(isRun, "```sh", mark+"```sh", 1), suite, "a.md:4: a test runs"},
		"a mark at another place": {isRun + mark + "\n```text\nok\n```\n", suite, "there are 1 marks, but only 0"},
		"a mark of output":        {isRun + mark + "```text\nok\n```\n", suite, "a fence without commands needs no mark"},
		"words that are gone":     {"", suite, `a_test.go:5:12: a.md has no commands after "## Run"`},
		"words that vary":         {isRun, strings.Replace(suite, `"## Run"`, "x", 1), `a_test.go:5:12: a.md has no commands after ""`},
		"a section":               {isRun + "```sh\ncurl localhost\n```\n", strings.Replace(suite, "x.Documented", "documentedSection", 1), ""},
		"a page":                  {isRun + "## Two\n\n```sh\ncurl localhost\n```\n", strings.Replace(suite, "Documented", "DocumentedPage", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"a.md": {Data: []byte(test.page)}, "a/a_test.go": {Data: []byte(test.suite)}}
			var out strings.Builder
			err := run(&out, files)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
