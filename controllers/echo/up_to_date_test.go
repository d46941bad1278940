package echo

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestOnlyChildrenThatWereKeptAreAsWanted(t *testing.T) {
	d := &appsv1.Deployment{}
	wanted := []children.Child{{Kind: "Deployment", Want: &unstructured.Unstructured{}}, {Kind: "Service"}}
	for name, c := range map[string]struct {
		live []client.Object
		kept map[string]client.Object
		want bool
	}{
		"kept":            {[]client.Object{d, nil}, map[string]client.Object{"Deployment": d}, true},
		"applied":         {[]client.Object{d, nil}, nil, false},
		"created":         {[]client.Object{nil, nil}, nil, false},
		"to be pruned":    {[]client.Object{d, &corev1.Service{}}, map[string]client.Object{"Deployment": d}, false},
		"nothing is seen": {[]client.Object{nil, nil}, nil, false},
	} {
		NewWithT(t).Expect(asWanted(wanted, c.live, &status.Observation{AsWanted: c.kept})).To(Equal(c.want), name)
	}
}
