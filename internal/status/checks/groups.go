package checks

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// ValidateGroups returns an *InvalidSpecError if a check names a group that pathcheck does not know. The schema accepts any name, so that
// an Echo with a newer group can exist in a cluster with an older operator.
func ValidateGroups(check *v1.EchoCheck) error {
	known := knownGroups()
	for _, name := range check.Groups {
		if !slices.Contains(known, name) {
			return &children.InvalidSpecError{
				Message: fmt.Sprintf("The group %s is unknown", name), Advice: fmt.Sprintf("The known groups are %s.", strings.Join(known, ", "))}
		}
	}
	return nil
}
