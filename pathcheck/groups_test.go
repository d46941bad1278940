package pathcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGroups_haveEachExamineFunction checks that every function that examines a group is in the table of groups.
func TestGroups_haveEachExamineFunction(t *testing.T) {
	table, found := text(t, "groups.go"), 0
	files, _ := filepath.Glob("internal/probe/*.go")
	for _, file := range files {
		for _, function := range regexp.MustCompile(`(?m)^func (Examine\w+)\(`).FindAllStringSubmatch(text(t, file), -1) {
			found++
			if want := ": probe." + function[1] + ","; !strings.Contains(table, want) {
				t.Errorf("%s has %s, but no group in groups.go has %s", file, function[1], want)
			}
		}
	}
	if found != len(groups())+1 { // one group has two
		t.Errorf("there are %d functions for %d groups", found, len(groups()))
	}
}

// TestFactTable_hasOnlyFactsOfReports checks that the groups report every fact in the table.
func TestFactTable_hasOnlyFactsOfReports(t *testing.T) {
	var code strings.Builder
	files, _ := filepath.Glob("internal/probe/*.go")
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && filepath.Base(file) != "facts.go" {
			code.WriteString(text(t, file))
		}
	}
	for _, each := range FactTable() {
		if !strings.Contains(code.String(), `"`+each.Name+`"`) {
			t.Errorf("no group reports %s", each.Name)
		}
	}
}

// TestGroupOf_isAGroup checks that the group of each fact exists, and that an expectation can name the fact.
func TestGroupOf_isAGroup(t *testing.T) {
	all, _ := GroupNames()
	for _, each := range FactTable() {
		if !slices.Contains(append(all, "path"), groupOf(each.Name)) { // every run examines the path
			t.Errorf("the group of %s is %q", each.Name, groupOf(each.Name))
		}
		if err := (Expectation{Fact: each.Name}).Exists(); err != nil {
			t.Errorf("%v: run make generate", err)
		}
	}
	if got := groupOf("retries.reset"); got != "outlierDetection" {
		t.Errorf("the group of retries.reset is %s", got)
	}
}

// TestGroupNames_areAcceptedByTheAPI checks that the groups field of a check accepts all groups.
func TestGroupNames_areAcceptedByTheAPI(t *testing.T) {
	const file = "../api/v1/echo_check.go"
	all, _ := GroupNames()
	field := regexp.MustCompile(`(?s)// groups are (.*?)\n\tGroups `).FindString(text(t, file))
	pattern := regexp.MustCompile("items:Pattern=`(\\S+)`").FindStringSubmatch(field)
	if pattern == nil || !strings.Contains(field, "MaxItems=32\n") || !strings.Contains(field, "items:MaxLength=32\n") || len(all) > 32 {
		t.Fatalf("%s does not accept %d groups: %s", file, len(all), field)
	}
	for _, name := range all {
		if !regexp.MustCompile(pattern[1]).MatchString(name) || len(name) > 32 {
			t.Errorf("the name %s does not match %s, or is too long", name, pattern[1])
		}
	}
}

// TestGroupNames_areDocumented checks that docs/reference/pathcheck.md has a row for each group and lists the opt-in groups.
func TestGroupNames_areDocumented(t *testing.T) {
	all, optIn := GroupNames()
	page := text(t, "../docs/reference/pathcheck.md")
	_, table, _ := strings.Cut(page, "| group | what its facts describe |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, row[1])
	}
	if !slices.Equal(slices.Sorted(slices.Values(rows)), slices.Sorted(slices.Values(all))) {
		t.Errorf("docs/reference/pathcheck.md has rows for the groups\n%v, but pathcheck has\n%v", rows, all)
	}
	if want := fmt.Sprintf("| `groups` | all but `%s` |", strings.Join(optIn, "` and `")); !strings.Contains(page, want) {
		t.Errorf("docs/reference/pathcheck.md does not contain %s", want)
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOptions_chosen(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"named":              {Options{Groups: []string{"tls", "client"}}, "client tls"},
		"of an expectation":  {Options{Groups: []string{"tls"}, Expect: []Expectation{expect("body.max", "1Mi")}}, "tls body"},
		"opt-in, if named":   {Options{Groups: []string{"timeouts"}}, "timeouts"},
		"opt-in, if needed":  {Options{Groups: []string{"grpc"}, Expect: []Expectation{expect("retries.reset", "0")}}, "grpc outlierDetection"},
		"of a member":        {Options{Groups: []string{"grpc"}, Expect: []Expectation{expect("client.spoofable[X-Real-IP]", "yes")}}, "client grpc"},
		"path has no groups": {Options{Groups: []string{"grpc"}, Expect: []Expectation{expect("path.errors", "0")}}, "grpc"},
	} {
		chosen, err := c.options.chosen()
		var names []string
		for _, each := range chosen {
			names = append(names, each.name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	all, optIn := GroupNames()
	everything, err := (&Command{groups: "all", output: "text", deadline: time.Minute}).options("http://a", "0") // by name, as in a check
	usual, usualErr := (&Options{}).chosen()
	if err != nil || usualErr != nil || !slices.Equal(everything.Groups, all) || len(usual) != len(all)-len(optIn) {
		t.Errorf("the groups of all are %v, %d by default, %v, %v", everything, len(usual), err, usualErr)
	}
	if _, err := (&Options{Groups: []string{"cleint"}}).chosen(); err == nil {
		t.Error("an unknown group is accepted")
	}
}
