package pathcheck

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxPinned is the maximum number of expectations in an Echo's check.
const maxPinned = 64

// WriteExpect writes a check that expects the path to stay unchanged, for the spec of an Echo. The check contains the facts, and also the
// groups if the options select groups. Comments in the check list the facts and groups that were not tested.
func (r *Report) WriteExpect(w io.Writer) error {
	pinned := r.pinned()
	switch {
	case r.Problem != "":
		return errors.New("nothing was tested: " + r.Problem)
	case len(pinned) > maxPinned:
		return fmt.Errorf("there are %d facts, but a check takes at most %d expectations: examine fewer groups, such as --groups=client,request",
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

// pinned returns the expectations that the current facts meet. It omits facts that differ between runs, and values that no expectation can
// have, such as a string from a server that begins with >=.
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
