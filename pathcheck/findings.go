package pathcheck

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Finding is something about the path that is wrong or surprising.
type Finding struct {
	Problem  string   `json:"problem"`            // what is wrong, and what it means
	Facts    []string `json:"facts"`              // with their values, and with what was received
	Settings []string `json:"settings,omitempty"` // where a person can change it
}

// judge marks the facts, and lists the findings, the worst first. A value that an expectation names is not surprising.
func (r *Report) judge() {
	table := FactTable()
	slices.SortStableFunc(table, func(a, b Definition) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, d := range table {
		finding, values := Finding{Settings: d.Settings}, []string{}
		for i := range r.Facts {
			f := &r.Facts[i]
			name, member, isMember := strings.Cut(strings.TrimSuffix(f.Name, "]"), "[")
			if name != d.Name {
				continue
			}
			f.Meaning = d.Meaning
			if f.Mark = d.Mark(f.Value); f.Mark != probe.Bad {
				continue
			}
			isHTTP := f.Name == "client.proto" && f.Value == "not reported" && strings.HasPrefix(r.URL, "http:")
			isExpected := slices.ContainsFunc(r.Expected, func(e Result) bool {
				return e.Fact == f.Name && e.OK && (e.Operator == "" || e.Operator == verdict.In)
			})
			if isHTTP || isExpected || isMember && f.Detail { // applications do not read a header that the path does not set
				f.Mark = ""
				continue
			}
			text := f.Name + "=" + f.Value
			if f.Received != "" {
				text += " (" + probe.Cut(f.Received, 160) + ")"
			}
			finding.Facts, values = append(finding.Facts, text), append(values, cmp.Or(member, f.Value))
		}
		if len(values) > 0 {
			finding.Problem = strings.ReplaceAll(d.Problem, "{value}", strings.Join(values, ", "))
			r.Findings = append(r.Findings, finding)
		}
	}
}

// width is the maximum length of the lines of a text report, in bytes, unless a word is longer.
const width = 110

// fold writes text in lines. The first line begins with a mark, and the others are indented.
func fold(b *bytes.Buffer, mark, text string) {
	length, _ := b.WriteString(strings.TrimRight(mark, " "))
	indent := len(mark) - length
	for each := range strings.FieldsSeq(text) {
		if length+indent+len(each) > width {
			length, _ = b.WriteString("\n")
			indent = len(mark)
		}
		added, _ := fmt.Fprintf(b, "%*s%s", indent, "", each)
		length += added
		indent = 1
	}
	b.WriteString("\n")
}

func (r *Report) writeFindings(b *bytes.Buffer) {
	if len(r.Findings) > 0 {
		b.WriteString("WRONG OR SURPRISING\n")
	} else if len(r.Facts) > 0 {
		b.WriteString("Nothing wrong or surprising was found.\n")
	}
	for i, each := range r.Findings {
		fold(b, fmt.Sprintf("%d. ", i+1), each.Problem)
		for _, fact := range each.Facts {
			fold(b, "     ", fact)
		}
		for _, setting := range each.Settings {
			fold(b, "   - ", setting)
		}
	}
}

// writeFacts writes the facts with each mark. Members of a fact with the same value are one item.
func (r *Report) writeFacts(b *bytes.Buffer) {
	b.WriteString("\nFACTS: + good, ! wrong or surprising, - neutral, ? unknown\n")
	for _, group := range []struct{ mark, sign string }{{probe.Good, "+ "}, {probe.Bad, "! "}, {"", "- "}} {
		var items []string
		others, last := 0, ""
		for _, f := range r.Facts {
			if f.Mark != group.mark {
				continue
			}
			name, member, isMember := strings.Cut(strings.TrimSuffix(f.Name, "]"), "[")
			this := name + "=" + f.Value
			switch {
			case isMember && f.Detail && f.Mark == "":
				others++
				continue
			case isMember && this == last:
				items[len(items)-1] += " " + member
			case isMember:
				items = append(items, this+": "+member)
			default:
				items = append(items, this)
			}
			last = this
		}
		if others > 0 {
			items = append(items, fmt.Sprintf("client.spoofable of %d headers that the path does not set", others))
		}
		if len(items) > 0 {
			fold(b, group.sign, strings.Join(items, ", "))
		}
	}
	for _, each := range r.NotTested {
		fold(b, "? ", each.Name+": "+each.Reason)
	}
}
