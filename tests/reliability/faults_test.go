package reliability

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// fault is something that may happen to a request.
type fault struct {
	name string
	// before is the error without which the request would be sent, and after one that hides that it was done.
	before, after error
	// crashBefore and crashAfter end the process.
	crashBefore, crashAfter bool
	// back is how many versions old the answer to a read is. The request must be a read of the cache.
	back int
	// visible is true if the status and the events may tell of it.
	visible bool
}

func faults() []fault {
	things := schema.GroupResource{Resource: "things"}
	internal, late := apierrors.NewInternalError(errors.New("etcd")), context.DeadlineExceeded
	return []fault{
		{name: "crash before", crashBefore: true},
		{name: "crash after", crashAfter: true},
		{name: "403", before: apierrors.NewForbidden(things, "x", errors.New("no"))},
		{name: "404", before: apierrors.NewNotFound(things, "x")},
		{name: "409", before: apierrors.NewConflict(things, "x", errors.New("old"))},
		{name: "422", before: apierrors.NewInvalid(schema.GroupKind{}, "x", nil), visible: true},
		{name: "429", before: apierrors.NewTooManyRequests("later", 1)},
		{name: "500", before: internal},
		{name: "503", before: apierrors.NewServiceUnavailable("no")},
		{name: "timeout before", before: late},
		{name: "500 after", after: internal},
		{name: "timeout after", after: late},
		{name: "one version back", back: 1},
		{name: "two versions back", back: 2},
	}
}

// crash is what a process panics with when it ends.
type crash struct{}

// injector lets one fault happen to one request of the operator.
type injector struct {
	cluster *cluster
	calls   []string
	at      int // from 1; none if it is 0
	fault   fault
	hit     bool
	// late is true if the cache gave an old answer. An event follows when the cache gets the newer version.
	late bool
	// served holds, by object, how many versions the cache of this process has got: it never goes back.
	served map[string]int
}

// request sends a request, or lets the fault happen to it.
func (i *injector) request(name string, send func() error) error {
	i.calls = append(i.calls, name)
	if len(i.calls) != i.at || i.fault.back > 0 {
		return send()
	}
	i.hit = true
	if i.fault.crashBefore {
		panic(crash{})
	}
	if i.fault.before != nil {
		return i.fault.before
	}
	err := send()
	if i.fault.crashAfter {
		panic(crash{})
	}
	if err == nil {
		err = i.fault.after
	}
	return err
}

// client returns a client of the operator. Reads of the cache cannot fail, but may be late; live ones cannot be late.
func (i *injector) client(cached bool) client.WithWatch {
	funcs := interceptor.Funcs{
		Get: func(ctx context.Context, k client.WithWatch, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if cached {
				return i.readCache(name, object)
			}
			return i.request(fmt.Sprintf("get %T", object), func() error { return k.Get(ctx, name, object, options...) })
		},
		List: func(ctx context.Context, k client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if cached {
				return k.List(ctx, list, options...)
			}
			return i.request(fmt.Sprintf("list %T", list), func() error { return k.List(ctx, list, options...) })
		},
		Patch: func(ctx context.Context, k client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return i.request(fmt.Sprintf("patch %T", object), func() error { return k.Patch(ctx, object, patch, options...) })
		},
		Apply: func(ctx context.Context, k client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return i.request("apply "+object.(interface{ GetKind() string }).GetKind(), func() error { return k.Apply(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, k client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return i.request(fmt.Sprintf("delete %T", object), func() error { return k.Delete(ctx, object, options...) })
		},
		SubResourcePatch: func(ctx context.Context, k client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return i.request(fmt.Sprintf("patch the %s of %T", part, object), func() error { return k.SubResource(part).Patch(ctx, object, patch, options...) })
		},
	}
	return interceptor.NewClient(i.cluster, funcs)
}

// readCache reads an object as the cache holds it, which is an old version if that is the fault.
func (i *injector) readCache(name client.ObjectKey, object client.Object) error {
	i.calls = append(i.calls, fmt.Sprintf("cache: get %T", object))
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	versions := i.cluster.versions[key(object)]
	last := len(versions) - 1
	if len(i.calls) == i.at && i.fault.back > 0 {
		i.hit, i.late = true, true
		last = max(last-i.fault.back, i.served[key(object)]-1)
	}
	i.served[key(object)] = last + 1
	if last < 0 || versions[last] == nil || !isCached(versions[last]) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, name.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(versions[last].DeepCopyObject()).Elem())
	return nil
}

// isCached reports whether the cache holds an object: Echoes, and what has the label of the operator.
func isCached(object client.Object) bool {
	_, isEcho := object.(*v1.Echo)
	return isEcho || children.ManagedSelector().Matches(labels.Set(object.GetLabels()))
}

// applies reports whether a fault can happen to a request.
func (f fault) applies(call string) bool {
	if strings.HasPrefix(call, "get ") && apierrors.IsNotFound(f.before) {
		return false // the API server does not deny what exists
	}
	return (f.back > 0) == strings.HasPrefix(call, "cache: ")
}
