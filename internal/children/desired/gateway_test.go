package desired

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestUnserved(t *testing.T) {
	routed := func(e *v1.Echo) {
		e.Spec.Gateway = &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "g"}}}
	}
	grpc := func(e *v1.Echo) { e.Spec.Gateway.GRPC = &v1.EchoGatewayGRPC{Hostnames: []string{"g.example.com"}} }
	for name, c := range map[string]struct {
		echo   *v1.Echo
		served children.Served
		want   []string
	}{
		"no gateway":        {support.Echo("ns", "x"), nil, nil},
		"nothing is served": {support.Echo("ns", "x", routed, grpc), nil, []string{"HTTPRoute", "GRPCRoute"}},
		"an older version":  {support.Echo("ns", "x", routed, grpc), children.Served{"HTTPRoute": true}, []string{"GRPCRoute"}},
		"it is not desired": {support.Echo("ns", "x", routed), children.Served{"HTTPRoute": true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Unserved(c.echo, c.served)).To(HaveExactElements(c.want))
			all, err := Of(c.echo, children.Config{Served: c.served})
			if err != nil || len(all) != len(Kinds())+len(c.served) || len(all) != len(KindsOf(c.echo, c.served)) {
				t.Errorf("%d children, %v", len(all), err)
			}
		})
	}
}
