package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/permissions"
)

func testEcho() *v1.Echo {
	echo := fullEcho("echoes")
	echo.Name, echo.UID, echo.Finalizers = "test", "1", []string{v1.Finalizer}
	return echo
}

// serving returns a pod that serves metrics on an address.
func serving(t *testing.T, address string) corev1.Pod {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	ports := []corev1.ContainerPort{{Name: "health", ContainerPort: 1}, {Name: "metrics", ContainerPort: int32(port)}}
	return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "proxy"}, {Name: "manager", Ports: ports}}}, Status: corev1.PodStatus{PodIP: host}}
}

func TestGetMetrics(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusUnauthorized} {
		asked := ""
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
			w.WriteHeader(status)
		}))
		if got := newWorld(t).getMetrics(t.Context(), serving(t, s.Listener.Addr().String())); got != status || asked != "GET /metrics Bearer token" {
			t.Errorf("%q was answered by %d, want %d", asked, got, status)
		}
		s.Close()
	}
}

func TestGetMetricsLogsWhyThereAreNone(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler()) // metrics are served over HTTPS
	defer plain.Close()
	w := newWorld(t)
	if got := w.getMetrics(t.Context(), serving(t, plain.Listener.Addr().String())); got != 0 || !strings.Contains(w.log.String(), "HTTP response to HTTPS client") {
		t.Errorf("a server without TLS answered %d; the log is %s", got, &w.log)
	}
}

func TestMetricsPort(t *testing.T) {
	pod := serving(t, "127.0.0.1:8443")
	if got := metricsPort(&pod.Spec); got != 8443 {
		t.Errorf("the port is %d, want 8443", got)
	}
	pod.Spec.Containers[1].Ports[1].Name = "other"
	if got := metricsPort(&pod.Spec); got != 0 {
		t.Errorf("without a port of that name it is %d, want 0", got)
	}
}

func TestChildrenOfAnEcho(t *testing.T) {
	echo := testEcho()
	meta := metav1.ObjectMeta{Namespace: "echoes", Name: "test"}
	other := metav1.ObjectMeta{Namespace: "echoes", Name: "other"}
	w := newWorld(t, &corev1.Service{ObjectMeta: meta}, &appsv1.Deployment{ObjectMeta: meta}, &appsv1.Deployment{ObjectMeta: other})
	made, err := w.childrenOf(t.Context(), echo)
	children := permissions.Children()
	if err != nil || len(made) != 2 || made[children[0]] == nil || made[children[1]] == nil || made[children[1]].GetName() != "test" {
		t.Errorf("the children are %v, %v, want a Service and a Deployment", made, err)
	}
	w.fail["get Ingress"] = errInjected
	if made, err := w.childrenOf(t.Context(), echo); !errors.Is(err, errInjected) || made != nil {
		t.Errorf("the children are %v, %v, want %v", made, err, errInjected)
	}
}

func TestEventsOfAnEcho(t *testing.T) {
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "echoes", Name: "e"}, Regarding: corev1.ObjectReference{UID: "2"}}
	for name, c := range map[string]struct {
		change func(w *world, echo *v1.Echo, end func())
		events int
		told   bool
		limit  time.Duration
		want   error
	}{
		"of another Echo":  {func(*world, *v1.Echo, func()) {}, 1, true, time.Hour, nil},
		"out of time":      {func(*world, *v1.Echo, func()) {}, 1, false, time.Second, context.DeadlineExceeded},
		"of this Echo":     {func(_ *world, echo *v1.Echo, _ func()) { echo.UID = "2" }, 1, false, time.Hour, nil},
		"unreadable":       {func(w *world, _ *v1.Echo, _ func()) { w.fail["list Event"] = errInjected }, 0, false, time.Hour, errInjected},
		"when told to end": {func(w *world, _ *v1.Echo, end func()) { w.before = func(string, runtime.Object) { end() } }, 1, false, time.Hour, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, echo := newWorld(t, event), testEcho()
				ctx, end := context.WithTimeout(t.Context(), c.limit)
				defer end()
				c.change(w, echo, end)
				events, err := w.eventsOf(ctx, echo)
				if !errors.Is(err, c.want) || err == nil && len(events) != c.events {
					t.Errorf("%d events, %v, want %d, %v", len(events), err, c.events, c.want)
				}
				if told := strings.Contains(w.log.String(), "test has no events after 1m30s"); told != c.told {
					t.Errorf("the log is %q, want the absence told: %t", &w.log, c.told)
				}
			})
		})
	}
}

// TestDeleteAndWatch checks that the children count that are gone when the operator removes its finalizer, and that what still exists
// does not.
func TestDeleteAndWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meta := metav1.ObjectMeta{Namespace: "echoes", Name: "test"}
		echo := testEcho()
		w := newWorld(t, echo, &corev1.Service{ObjectMeta: meta})
		reads := 0
		w.before = func(request string, _ runtime.Object) {
			if request != "get Echo" {
				return
			}
			if reads++; reads == 4 {
				if err := w.removeFinalizer(t.Context(), echo.DeepCopy(), v1.Finalizer); err != nil {
					t.Error(err)
				}
			}
		}
		gone, err := w.deleteAndWatch(t.Context(), echo)
		if err != nil || len(gone) != 4 || gone[0].Kind != "Deployment" || reads < 4 {
			t.Errorf("after %d reads gone are %v, %v, want all but the Service", reads, gone, err)
		}
		if err := errors.Join(w.removeFinalizer(t.Context(), echo, testFinalizer), w.removeFinalizer(t.Context(), echo, testFinalizer)); err != nil {
			t.Errorf("letting go what is gone: %v", err)
		}
		w.echoesLeft(t)
	})
}

func TestDeleteAndWatchFails(t *testing.T) {
	for request, want := range map[string]string{"none": "the operator does not remove its finalizer from the Echo test: it has no condition", "patch Echo": "injected", "delete Echo": "injected", "get Echo": "injected"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, testEcho())
			w.fail[request] = errInjected
			if gone, err := w.deleteAndWatch(t.Context(), testEcho()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("failing request %q: %v, %v, want %q", request, gone, err, want)
			}
		})
	}
}

// TestConflictsAreTriedAgain checks that a write is repeated if the operator wrote to the same Echo.
func TestConflictsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, testEcho())
		w.fail["patch Echo"] = apierrors.NewConflict(schema.GroupResource{}, "test", errInjected)
		reads := 0
		w.before = func(string, runtime.Object) {
			if reads++; reads == 3 {
				delete(w.fail, "patch Echo")
			}
		}
		echo := testEcho()
		if err := w.removeFinalizer(t.Context(), echo, v1.Finalizer); err != nil || len(echo.Finalizers) > 0 {
			t.Errorf("after %d requests: %v, with the finalizers %v", reads, err, echo.Finalizers)
		}
	})
}
