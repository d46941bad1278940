package pathcheck

import (
	"fmt"
	"io"
	"strings"
)

// maxPinned is the maximum number of expectations in a check.
const maxPinned = 64

// WriteExpect writes YAML for a check that expects the path to stay unchanged. The YAML contains the facts, the selected groups, and
// comments about everything that was not tested.
func (r *Report) WriteExpect(w io.Writer) error {
	pinned := r.pinned()
	switch {
	case r.Problem != "":
		_, err := fmt.Fprintf(w, "# nothing was tested: %s\n", r.Problem)
		return err
	case len(pinned) > maxPinned:
		return fmt.Errorf("%d facts exceed the maximum of %d expectations per check: examine fewer groups, such as --groups=client,request",
			len(pinned), maxPinned)
	}
	var b strings.Builder
	for _, each := range r.NotTested {
		fmt.Fprintf(&b, "# %s was not tested: %s\n", each.Name, each.Reason)
	}
	if len(r.groups) > 0 {
		fmt.Fprintf(&b, "groups: [%s]\n", strings.Join(r.groups, ", "))
	}
	b.WriteString("expect:\n")
	for _, each := range pinned {
		fmt.Fprintf(&b, "- {fact: %s, value: %q}\n", each.Name, each.Want) // Go and YAML quote printable ASCII in the same way
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pinned returns the expectations that the current facts meet. It omits facts that differ between runs, and values that are not valid in an
// expectation, such as a server's string that begins with >=.
func (r *Report) pinned() []Expectation {
	var pinned []Expectation
	for _, each := range r.Facts {
		e, err := ParseExpectation(each.Name + "=" + each.Value)
		if err == nil && e.met(each.Value) && !each.Detail {
			pinned = append(pinned, e)
		}
	}
	return pinned
}
