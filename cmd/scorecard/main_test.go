package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/internal/scorecard"
)

// TestMain_printsOneResult checks that main prints a result and nothing else, even if the test cannot run.
func TestMain_printsOneResult(t *testing.T) {
	if _, err := os.Stat("/bundle"); err == nil {
		t.Skip("there is a bundle in /bundle")
	}
	for _, want := range []string{"examples", "", "examples permissions"} {
		arguments := "echo-scorecard " + want
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		stdout, given := os.Stdout, os.Args
		os.Stdout, os.Args = out, strings.Fields(arguments)
		main()
		os.Stdout, os.Args = stdout, given
		NewWithT(t).Expect(out.Close()).To(Succeed())
		text, err := os.ReadFile(out.Name())
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		var printed scorecard.Status
		if err := json.Unmarshal(text, &printed); err != nil || len(printed.Results) != 1 {
			t.Fatalf("%s: printed %q, %v, want one result", arguments, text, err)
		}
		r := printed.Results[0]
		if r.Name != want || r.State != "error" || len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "/bundle") {
			t.Errorf("%s: the result is %+v, want an error of the test %q about the missing bundle", arguments, r, want)
		}
	}
}
