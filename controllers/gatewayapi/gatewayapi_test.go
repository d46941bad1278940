package gatewayapi

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestIsGone(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "x")
	wanted := desired.PodMonitor(fakecluster.StoredEcho(func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} }))
	for name, c := range map[string]struct {
		child children.Child
		err   error
		want  bool
	}{
		"optional":              {children.Child{Optional: true, Desired: wanted.Desired}, gone, true},
		"optional, not desired": {children.Child{Optional: true}, gone, false},
		"of each cluster":       {children.Child{Desired: wanted.Desired}, gone, false},
		"another error":         {children.Child{Optional: true, Desired: wanted.Desired}, errors.New("x"), false},
		"no error":              {children.Child{Optional: true, Desired: wanted.Desired}, nil, false},
	} {
		NewWithT(t).Expect(IsGone(c.child, c.err)).To(Equal(c.want), name)
	}
}
