package pathcheck

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
)

//go:embed report.html
var reportPage string

// section contains the facts in a group.
type section struct {
	Name  string
	Facts []fact.Fact
}

// WriteHTML writes the report as a self-contained HTML page without scripts. html/template escapes data from servers.
func (r *Report) WriteHTML(w io.Writer) error {
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		*Report
		Sections []section
	}{r, r.sections()})
}

func (r *Report) sections() (all []section) {
	for _, each := range r.Facts {
		name, _, _ := strings.Cut(each.Name, ".")
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, section{Name: name})
		}
		last := &all[len(all)-1]
		last.Facts = append(last.Facts, each)
	}
	return all
}
