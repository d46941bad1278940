package main

import (
	"strings"
	"testing"
)

func TestReplaced_namesFileLineAndWhatToWrite(t *testing.T) {
	for name, test := range map[string]struct {
		file, content, want string
	}{
		"a word":                      {"docs/a.md", "One.\nSomebody\n", `docs/a.md:2: "Somebody": write "another client, or who it is"`},
		"after code":                  {"docs/a.md", "```\nnobody\n```\nnobody\n", `docs/a.md:4: "nobody": write "no one"`},
		"code in a line":              {"docs/a.md", "`nobody`\n", ""},
		"a part of a word":            {"docs/a.md", "recommended\n", ""},
		"a comment":                   {"a.go", "package a\n\n// nobody\nfunc a() {}\n", `a.go:3: "nobody": write "no one"`},
		"a message":                   {"a.go", "package a\n\nconst a = \"nobody\"\n", `a.go:3: "nobody": write "no one"`},
		"a string in a test":          {"a_test.go", "package a\n\nconst a = \"nobody\"\n", ""},
		"a directive":                 {"a.go", "package a\n\n//nobody:x\n", ""},
		"a generated file of the API": {"api/v1/zz_generated.deepcopy.go", "package v1\n\n// nobody\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if kind, read := groupOf(test.file); read {
				text, err := prose(kind, test.content)
				if err != nil {
					t.Fatal(err)
				}
				for _, problem := range replaced(test.file, text, replacedWords()) {
					got += problem.Error()
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestMatches_findsMarkersAcrossBlanks(t *testing.T) {
	if got := len(matches("Those  of the others are told by which\nway, besides.", markers())); got != 3 {
		t.Errorf("got %d, want 3: those of, told, by which", got)
	}
}

func TestTestNames_problems(t *testing.T) {
	var names testNames
	for file, content := range map[string]string{
		"a/a.go":            "package a\n\ntype reader struct{}\n\nfunc (reader) Read() {}\nfunc parse() {}\n",
		"a/a_test.go":       "package a\n\nfunc TestParse(t *testing.T) {}\nfunc TestReader_atEnd(t *testing.T) {}\nfunc TestRead_twice(t *testing.T) {}\n",
		"b/b_test.go":       "package b\n\nfunc TestTheEndIsRead(t *testing.T) {}\nfunc FuzzAll(f *testing.F) {}\nfunc helper() {}\n",
		"tests/c/c.go":      "package c\n\nfunc theEndIsRead() {}\n",
		"tests/c/c_test.go": "package c\n\nfunc TestChart(t *testing.T) {}\n",
	} {
		if err := names.add(file, content); err != nil {
			t.Fatal(err)
		}
	}
	if got := names.problems(); len(got) != 1 || !strings.HasPrefix(got[0].Error(), "b/b_test.go: TestTheEndIsRead: ") {
		t.Errorf("got %v", got)
	}
}
