package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/permissions"
)

const (
	leaseName = "echo-operator.example.com"
	// testFinalizer keeps an Echo in the cluster after the operator has removed its own finalizer, so that all children that do not exist
	// by then were deleted by the operator and not by the garbage collector.
	testFinalizer = "scorecard.example.com/hold"
	// metricsTimeout is how long the operator may take to respond; it sends two requests to the API server.
	metricsTimeout = 20 * time.Second
)

// traces creates and deletes an Echo and returns what the operator wrote meanwhile.
func (c *cluster) traces(ctx context.Context, pods []corev1.Pod) (permissions.Traces, error) {
	traces := permissions.Traces{Lease: &coordinationv1.Lease{}}
	for _, pod := range pods {
		traces.Pods = append(traces.Pods, pod.Name)
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: pods[0].Namespace, Name: leaseName}, traces.Lease); err != nil {
		return traces, err
	}
	traces.MetricsStatus = c.getMetrics(ctx, pods[0])
	echo := fullEcho(c.namespace)
	if err := c.Create(ctx, echo); err != nil {
		return traces, err
	}
	err := c.follow(ctx, echo, &traces)
	return traces, errors.Join(err, c.removeFinalizer(ctx, echo, testFinalizer), c.remove(ctx, echo))
}

// follow records the traces of an Echo until the operator has deleted its children.
func (c *cluster) follow(ctx context.Context, echo *v1.Echo, traces *permissions.Traces) error {
	if err := c.waitReady(ctx, echo); err != nil {
		return err
	}
	traces.Echo = echo.DeepCopy()
	var err error
	if traces.Made, err = c.childrenOf(ctx, echo); err != nil {
		return err
	}
	if traces.Events, err = c.eventsOf(ctx, echo); err != nil {
		return err
	}
	if traces.Companion, err = c.companionOf(ctx, echo); err != nil {
		return err
	}
	traces.Gone, err = c.deleteAndWatch(ctx, echo)
	return err
}

// childrenOf returns the children of an Echo that exist.
func (c *cluster) childrenOf(ctx context.Context, echo *v1.Echo) (map[permissions.Child]metav1.Object, error) {
	children := map[permissions.Child]metav1.Object{}
	for _, child := range permissions.Children() {
		object := objectOf(child, echo)
		gone, err := isNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object))
		if err != nil {
			return nil, err
		}
		if !gone {
			children[child] = object
		}
	}
	return children, nil
}

// objectOf returns a child of an Echo, which has the same name.
func objectOf(child permissions.Child, echo *v1.Echo) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: echo.Namespace, Name: echo.Name}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: child.Group, Version: child.Version, Kind: child.Kind})
	return object
}

// eventsOf returns the events of an Echo. It waits for the first one, because the operator sends them in the background; it is not an
// error if there are none.
func (c *cluster) eventsOf(ctx context.Context, echo *v1.Echo) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		err := c.List(ctx, list, client.InNamespace(echo.Namespace))
		return slices.ContainsFunc(list.Items, func(event eventsv1.Event) bool { return event.Regarding.UID == echo.UID }), err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		c.logf("%s has no events after %s", echo.Name, c.patience)
		err = nil
	}
	return list.Items, err
}

// deleteAndWatch deletes an Echo and returns which of its children the operator deleted before it removed its finalizer.
func (c *cluster) deleteAndWatch(ctx context.Context, echo *v1.Echo) ([]permissions.Child, error) {
	if err := c.editFinalizers(ctx, echo, func() bool { return controllerutil.AddFinalizer(echo, testFinalizer) }); err != nil {
		return nil, err
	}
	if err := c.Delete(ctx, echo, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return nil, err
	}
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		err := c.refresh(ctx, echo)
		return err == nil && !controllerutil.ContainsFinalizer(echo, v1.Finalizer), err
	})
	if err != nil {
		return nil, fmt.Errorf("the operator does not remove its finalizer from the Echo %s: %s (%w)", echo.Name, state(echo), err)
	}
	left, err := c.childrenOf(ctx, echo)
	return slices.DeleteFunc(permissions.Children(), func(child permissions.Child) bool { return left[child] != nil }), err
}

// removeFinalizer removes a finalizer from an Echo, if both still exist, even if ctx is cancelled.
func (c *cluster) removeFinalizer(ctx context.Context, echo *v1.Echo, finalizer string) error {
	ctx = context.WithoutCancel(ctx)
	return client.IgnoreNotFound(c.editFinalizers(ctx, echo, func() bool { return controllerutil.RemoveFinalizer(echo, finalizer) }))
}

// editFinalizers changes the finalizers of an Echo, and retries on conflicts.
func (c *cluster) editFinalizers(ctx context.Context, echo *v1.Echo, edit func() bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.refresh(ctx, echo); err != nil {
			return err
		}
		before := echo.DeepCopy()
		if !edit() {
			return nil
		}
		return c.Patch(ctx, echo, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}

// getMetrics requests the metrics of a pod of the operator and returns the HTTP status, or 0 if the pod does not respond.
func (c *cluster) getMetrics(ctx context.Context, pod corev1.Pod) int {
	status, err := get(ctx, "https://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(metricsPort(&pod.Spec)))+"/metrics", c.token)
	c.logf("the status of the metrics of %s is %d %v", pod.Name, status, err)
	return status
}

// metricsPort returns the port with the name metrics, or 0 if there is none.
func metricsPort(spec *corev1.PodSpec) int {
	for _, container := range spec.Containers {
		for _, port := range container.Ports {
			if port.Name == "metrics" {
				return int(port.ContainerPort)
			}
		}
	}
	return 0
}

// get sends a request with a token and returns the HTTP status. The certificate of the operator is self-signed.
func get(ctx context.Context, url, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	httpClient := http.Client{Timeout: metricsTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
