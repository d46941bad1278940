package status

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// adviceOnService returns a sentence that names the fields of the spec whose values the API server refuses in a Service, empty if it
// refuses something else. The schema of the Echo cannot reject all of them, because they depend on the cluster.
func adviceOnService(err error) string {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) || refused.Status().Details == nil || refused.Status().Details.Kind != "Service" {
		return ""
	}
	var fields []string
	for _, c := range refused.Status().Details.Causes {
		if name := fieldOfService(c.Field); name != "" {
			fields = append(fields, "spec.service."+name)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	slices.Sort(fields)
	return fmt.Sprintf("Change or remove %s of the Echo.", strings.Join(slices.Compact(fields), " and "))
}

// fieldOfService returns the name of the field of an Echo's Service from which a field of a Service comes, such as spec.ipFamilies[0],
// empty if it comes from none. The API server spells some with a capital letter.
func fieldOfService(path string) string {
	_, name, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	for field := range reflect.TypeFor[v1.EchoService]().Fields() {
		if own, _, _ := strings.Cut(field.Tag.Get("json"), ","); strings.EqualFold(own, name) {
			return own
		}
	}
	return ""
}
