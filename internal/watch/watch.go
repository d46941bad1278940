// Package watch implements the 'manager watch' command, which prints changes to the objects of a kind.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Run prints changes until ctx is done, and then returns nil. It fails only if it cannot start or cannot print. If a connection breaks or
// the API server rejects a request, Run reports the problem and retries.
func Run(ctx context.Context, cluster *rest.Config, options Options, stdout, stderr io.Writer) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p := &printer{stdout: stdout, stderr: stderr, json: options.output == "json", kind: options.kind, now: time.Now, failed: fail}
	cluster = rest.CopyConfig(cluster)
	cluster.Wrap(func(next http.RoundTripper) http.RoundTripper { return newConnection(next, p.failure) })
	client, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("the cluster configuration cannot be used: %w", err)
	}
	informer, err := newInformer(client, options, p)
	if err != nil {
		return err
	}
	// Run does not wait for the informer, which may be waiting for its next attempt.
	go informer.RunWithContext(klog.NewContext(ctx, logr.Discard()))
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// newInformer returns an informer for the objects that the options select. After an interruption, the informer lists the objects again and
// reports only the differences.
func newInformer(client dynamic.Interface, options Options, p *printer) (cache.SharedIndexInformer, error) {
	source := cache.ToListWatcherWithWatchListSemantics(listWatch(client, options, p), client)
	informer := cache.NewSharedIndexInformerWithOptions(source, &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: options.kind.name})
	if err := informer.SetTransform(strip); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if isNews(err) {
			p.failure(err)
		}
	})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(handler(p))
	return informer, err
}

// isNews reports whether an error that ends a list or watch request must be printed. The connection has already printed errors about
// missing responses. It is normal for a watch's resource version to become too old, or for the server to close a watch.
func isNews(err error) bool {
	return !gotNoResponse(err) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !errors.Is(err, io.EOF) && !errors.Is(err,
		io.ErrUnexpectedEOF)
}

// listWatch returns functions that list and watch objects, and that print the watch errors that client-go does not report.
func listWatch(client dynamic.Interface, options Options, p *printer) *cache.ListWatch {
	objects := client.Resource(options.kind.resource).Namespace(options.namespace)
	named := func(err error) { p.failure(fmt.Errorf("failed to watch %s: %w", options.kind.name, err)) }
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			list.LabelSelector = options.selector
			return objects.List(ctx, list)
		},
		WatchFuncWithContext: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			list.LabelSelector = options.selector
			stream, err := objects.Watch(ctx, list)
			if err == nil {
				return watch.Filter(stream, reportEnd(ctx, named)), nil
			}
			if apierrors.IsTooManyRequests(err) {
				named(err)
			}
			return nil, fmt.Errorf("failed to watch %s: %w", options.kind.name, err)
		},
	}
}

// reportEnd returns a filter that reports the error that ends a watch, and passes on every event. The filter ignores the error for a
// resource version that is too old, because that is normal after a long interruption. It also ignores errors from a watch that the client
// itself closes.
func reportEnd(ctx context.Context, report func(error)) watch.FilterFunc {
	ended := false
	return func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Error && !ended && ctx.Err() == nil {
			ended = true
			if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) {
				report(err)
			}
		}
		return event, true
	}
}

// handler returns an event handler that prints the changes that an informer reports.
func handler(p *printer) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { p.object(added, object.(*unstructured.Unstructured)) },
		UpdateFunc: func(old, current any) {
			before, after := old.(*unstructured.Unstructured), current.(*unstructured.Unstructured)
			if before.GetUID() != after.GetUID() { // deleted and created again during an interruption
				p.object(deleted, before)
				p.object(added, after)
				return
			}
			if before.GetResourceVersion() != after.GetResourceVersion() { // unchanged objects are listed again after an interruption
				p.object(updated, after)
			}
		},
		DeleteFunc: func(object any) {
			if lost, ok := object.(cache.DeletedFinalStateUnknown); ok { // deleted during an interruption
				object = lost.Obj
			}
			p.object(deleted, object.(*unstructured.Unstructured))
		},
	}
}
