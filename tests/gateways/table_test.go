package gateways

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck"
)

const document = "../../docs/reference/gateways.md"

// shown returns the names of the facts in the documented table.
func shown() []string {
	return []string{"request.host", "request.version", "request.http2", "request.method", "request.methodOther", "request.path.encodedSlash",
		"request.path.dots", "request.path.doubleSlash", "request.headers.underscores", "request.headers.case", "request.headers.duplicates",
		"request.headers.size", "request.headers.added", "request.headers.removed", "request.trailers", "client.address", "client.address.by",
		"client.spoofable[X-Forwarded-For]", "client.spoofable[Forwarded]", "client.spoofable[X-Forwarded-Proto]", "client.removable",
		"client.requestID", "body.max", "body.chunked", "body.request", "body.expect", "body.range", "response.stream",
		"response.status", "response.headers.added", "response.compression", "response.cached", "response.earlyHints",
		"websocket.upgrade", "grpc.unary", "retries.get", "loadBalancing.keepAlive"}
}

// table returns two tables for the documentation. The first table shows the facts of each gateway. Facts with the same values share a row.
// The second table shows the settings that change facts.
func table(t *testing.T, reports map[string]*pathcheck.Report) string {
	t.Helper()
	var b strings.Builder
	all := gateways()
	b.WriteString("| fact |")
	for _, g := range all {
		fmt.Fprintf(&b, " %s %s |", g.name, g.versionOf(t))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	var rows []string
	facts := map[string][]string{}
	for _, fact := range shown() {
		row := ""
		for _, g := range all {
			value := "varies"
			if fact != g.varies {
				value = cell(reports[g.name], fact)
			}
			row += fmt.Sprintf(" %s |", value)
		}
		if facts[row] == nil {
			rows = append(rows, row)
		}
		facts[row] = append(facts[row], "`"+fact+"`")
	}
	for _, row := range rows {
		b.WriteString("| " + strings.Join(facts[row], ", ") + " |" + row + "\n")
	}
	if text := settings(); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}

func settings() string {
	rows := ""
	for _, g := range gateways() {
		for _, each := range g.turns {
			var facts []string
			for name, value := range each.facts {
				facts = append(facts, fmt.Sprintf("`%s`: %s", name, value))
			}
			slices.Sort(facts)
			rows += fmt.Sprintf("| %s | %s | %s |\n", g.name, each.code(), strings.Join(facts, ", "))
		}
	}
	if rows == "" {
		return ""
	}
	return "| gateway | setting | then |\n|---|---|---|\n" + rows
}

// code returns the directives of a setting, except the directive that forwards requests.
func (t turn) code() string {
	if t.setting == "" {
		return "`Cache-Control: max-age=60` from the Echo"
	}
	directives := []string{t.setting}
	if !strings.Contains(t.setting, "{ ") && !strings.Contains(t.setting, "{\n") {
		directives = strings.Split(t.setting, "\n")
	}
	var all []string
	for _, each := range directives {
		text := strings.TrimSuffix(strings.Join(strings.Fields(each), " "), " reverse_proxy ECHO")
		if text != "ProxyPass / http://ECHO/" && text != "reverse_proxy ECHO" {
			all = append(all, "`"+strings.ReplaceAll(text, "http://ECHO/", "http://.../")+"`")
		}
	}
	return strings.Join(all, ", ")
}

// cell returns the value of a fact or, if the fact is about added headers, the names of all these headers.
func cell(r *pathcheck.Report, fact string) string {
	switch value := valueOf(r, fact); {
	case !strings.HasSuffix(fact, ".added"):
		return value
	case !strings.Contains(value, " names #"): // the value is the list
		return strings.ReplaceAll(value, ",", ", ")
	}
	var names []string
	for _, each := range r.Facts {
		if each.Name != fact {
			continue
		}
		for part := range strings.SplitSeq(each.Received, "; ") {
			name, _, _ := strings.Cut(part, ":")
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// checkTable compares the documented tables with the facts of the gateways. If UPDATE is set, it updates the documentation instead. It
// accepts any table for other versions of the gateways, because their facts may differ.
func checkTable(t *testing.T, reports map[string]*pathcheck.Report) {
	t.Helper()
	if t.Failed() || len(reports) < len(gateways()) { // -run may select only some gateways
		return
	}
	target, end := "make test-gateways UPDATE=1", "<!-- end -->\n"
	if one := os.Getenv("GATEWAYS"); one != "all" {
		target = "make test-" + one + " UPDATE=1"
	}
	begin := "<!-- made by " + target + " -->\n"
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", document)
	}
	made := table(t, reports)
	title, _, _ := strings.Cut(made, "\n")
	switch {
	case os.Getenv("UPDATE") != "":
		if err := os.WriteFile(document, []byte(before+begin+made+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case !strings.HasPrefix(old, title):
		t.Logf("the documentation covers versions other than %s", title)
	case made != old:
		t.Errorf("%s has another table: run %s\n%s", document, target, made)
	}
}
