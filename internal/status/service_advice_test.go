package status

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestAdviceOnService(t *testing.T) {
	refused := func(kind string, paths ...string) error {
		var all field.ErrorList
		for _, path := range paths {
			all = append(all, field.Invalid(field.NewPath(path), "x", "no"))
		}
		return fmt.Errorf("applying: %w", apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "x", all))
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a family of another cluster": {refused("Service", "spec.ipFamilies[0]"), "Change or remove spec.service.ipFamilies of the Echo."},
		"two fields, one twice": {refused("Service", "spec.ipFamilyPolicy", "spec.ipFamilies[0]", "spec.ipFamilies[1]"),
			"Change or remove spec.service.ipFamilies and spec.service.ipFamilyPolicy of the Echo."},
		"with a capital letter": {refused("Service", "spec.LoadBalancerSourceRanges[2]"),
			"Change or remove spec.service.loadBalancerSourceRanges of the Echo."},
		"an annotation":                 {refused("Service", "metadata.annotations"), "Change or remove spec.service.annotations of the Echo."},
		"what no field of the Echo is":  {refused("Service", "spec.ports[0].nodePort", "spec.clusterIPs"), ""},
		"another kind":                  {refused("Deployment", "spec.sessionAffinity"), ""},
		"no field":                      {refused("Service"), ""},
		"no response of the API server": {errors.New("no"), ""},
	} {
		NewWithT(t).Expect(adviceOnService(c.err)).To(Equal(c.want), name)
	}
}

func TestTheStatusNamesTheFieldThatTheAPIServerRefuses(t *testing.T) {
	g := NewWithT(t)
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", field.ErrorList{
		field.Invalid(field.NewPath("spec", "ipFamilies").Index(0), "IPv6", "not configured on this cluster")})
	status := Evaluate(support.Echo("ns", "x"), Observation{}, Classify(fmt.Errorf("applying Service ns/x: %w", err)), time.Now()).Status
	const want = `applying Service ns/x: Service "x" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster. ` +
		"Change or remove spec.service.ipFamilies of the Echo."
	g.Expect(status.Message).To(Equal(want))
	g.Expect(status.Phase).To(Equal(v1.PhaseFailed))
}
