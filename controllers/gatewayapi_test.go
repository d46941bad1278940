package controllers

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func TestIsGone(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "x")
	wanted := objects.PodMonitor(StoredEcho(func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} }))
	for name, c := range map[string]struct {
		child objects.Child
		err   error
		want  bool
	}{
		"optional":              {objects.Child{Optional: true, Desired: wanted.Desired}, gone, true},
		"optional, not desired": {objects.Child{Optional: true}, gone, false},
		"of each cluster":       {objects.Child{Desired: wanted.Desired}, gone, false},
		"another error":         {objects.Child{Optional: true, Desired: wanted.Desired}, errors.New("x"), false},
		"no error":              {objects.Child{Optional: true, Desired: wanted.Desired}, nil, false},
	} {
		NewWithT(t).Expect(isGatewayKindGone(c.child, c.err)).To(Equal(c.want), name)
	}
}
