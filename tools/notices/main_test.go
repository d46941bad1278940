package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRun compares a program's notices with the modules that Go lists.
func TestRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./cmd/pathcheck")
	build.Dir = "../.."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	output, err := exec.CommandContext(t.Context(), "go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(string(output), program+": "), "\n")
	want := []string{version}
	for _, module := range regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(string(output), -1) {
		want = append(want, module[1]+"@"+module[2])
	}
	var out strings.Builder
	if err := run(&out, []string{"../..", program, program}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range regexp.MustCompile(`(?m)^(\S+[@.]\S+) LICENSE(?:.txt)?$`).FindAllStringSubmatch(out.String(), -1) {
		got = append(got, name[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 2 || !slices.Equal(got, want) || strings.Count(out.String(), "Redistribution and use") == 0 {
		t.Errorf("there are notices of %q, want %q:\n%s", got, want, &out)
	}
	if _, err := downloaded("../..", []string{"example.com/none@v0.0.0"}); err == nil {
		t.Error("a missing module is not an error")
	}
}

// TestNotices_add checks that a string in several files is printed once, below the names of the files. It also checks that code and test
// data are not printed as notices.
func TestNotices_add(t *testing.T) {
	files := func(names ...string) fstest.MapFS {
		all := fstest.MapFS{}
		for _, name := range names {
			all[name] = &fstest.MapFile{Data: []byte(" text \n")}
		}
		return all
	}
	all := notices{}
	for name, of := range map[string]fstest.MapFS{
		"a@v1": files("LICENSE", "NOTICE.txt", "license.go", "testdata/LICENSE", "vendor/b/LICENSE", "README"),
		"b@v1": files("UNLICENSE", "LICENSE-MIT", "third_party/COPYING"),
		"c@v1": {"MIT.licence": {Data: []byte("other")}},
	} {
		if err := all.add(name, of); err != nil {
			t.Error(err)
		}
	}
	for _, names := range all {
		slices.Sort(names)
	}
	_, got, _ := strings.Cut(all.String(), "\n\n")
	line := strings.Repeat("=", 80)
	want := line + "\na@v1 LICENSE\na@v1 NOTICE.txt\nb@v1 LICENSE-MIT\nb@v1 UNLICENSE\nb@v1 third_party/COPYING\n\ntext\n\n" +
		line + "\nc@v1 MIT.licence\n\nother\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if err := all.add("d@v1", files("README", "license_test.go")); err == nil || err.Error() != "d@v1 has no license" {
		t.Errorf("a module without a license is accepted: %v", err)
	}
}
