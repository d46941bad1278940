package support

import (
	"context"
	"reflect"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EventuallyObject polls an object from the API server. It reads into a new object each time, because a reused object would keep the values
// of fields that are now absent.
func EventuallyObject(ctx context.Context, c client.Client, object client.Object) AsyncAssertion {
	return Eventually(func(ctx context.Context) (client.Object, error) {
		now := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		return now, c.Get(ctx, client.ObjectKeyFromObject(object), now)
	}).WithContext(ctx)
}
