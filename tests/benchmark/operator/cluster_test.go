package main

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestNodesFor(t *testing.T) {
	for _, c := range []struct{ echoes, want int }{{1, 2}, {125, 2}, {126, 3}, {10000, 81}} {
		if got := nodesFor(c.echoes); got != c.want {
			t.Errorf("%d nodes for %d Echoes, not %d", got, c.echoes, c.want)
		}
	}
}

func TestSentRequests(t *testing.T) {
	metrics, err := parseMetrics(strings.NewReader(`# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 9
rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"} 5
rest_client_requests_total{code="409",host="127.0.0.1:1",method="PATCH"} 1
rest_client_requests_total{code="201",host="127.0.0.1:1",method="POST"} 4
`))
	if err != nil {
		t.Fatal(err)
	}
	sent := sentRequests(metrics)
	if want := (counts{"GET 200": 9, "PATCH 200": 5, "PATCH 409": 1, "POST 201": 4}); !maps.Equal(sent, want) {
		t.Errorf("the requests are %v, not %v", sent, want)
	}
	if all, own, writes, conflicts := sent.sum(isAny), sent.sum(isNoReview), sent.sum(isWrite), sent.sum(isConflict); all != 19 || own != 15 ||
		writes != 6 || conflicts != 1 {
		t.Errorf("%v requests, %v without reviews, %v writes and %v conflicts, not 19, 15, 6 and 1", all, own, writes, conflicts)
	}
}

// newEcho returns an Echo that is ready, unless it is changed.
func newEcho(name string, changes ...func(*v1.Echo)) *v1.Echo {
	echo := &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 2}, Spec: v1.EchoSpec{Replicas: 2}}
	echo.Status = v1.EchoStatus{ObservedGeneration: 2, ReadyReplicas: 2, Image: "image",
		Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}}
	for _, change := range changes {
		change(echo)
	}
	return echo
}

func TestReadyImage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		want   string
	}{
		"ready":            {func(*v1.Echo) {}, "image"},
		"new":              {func(e *v1.Echo) { e.Status = v1.EchoStatus{} }, ""},
		"changed":          {func(e *v1.Echo) { e.Generation = 3 }, ""},
		"a pod is missing": {func(e *v1.Echo) { e.Status.ReadyReplicas = 1 }, ""},
		"being rolled out": {func(e *v1.Echo) { e.Status.Conditions[0].Status = metav1.ConditionFalse }, ""},
	} {
		if got := readyImage(newEcho("x", c.change)); got != c.want {
			t.Errorf("%s: the image is %q, not %q", name, got, c.want)
		}
	}
}

func TestEchoCount(t *testing.T) {
	e := &echoCount{images: map[string]string{}}
	handler := e.handler()
	check := func(all, ready int) {
		t.Helper()
		if a, b := e.all(), e.ready("image"); a != all || b != ready {
			t.Errorf("%d Echoes, %d of them ready; not %d and %d", a, b, all, ready)
		}
	}
	starting := func(echo *v1.Echo) { echo.Status.Conditions = nil }
	handler.OnAdd(newEcho("echo-1", starting), true)
	handler.OnAdd(newEcho("echo-2"), false)
	handler.OnAdd(newEcho("echo-3"), false)
	check(3, 2)
	handler.OnUpdate(newEcho("echo-1", starting), newEcho("echo-1"))
	check(3, 3)
	handler.OnDelete(newEcho("echo-2"))
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: namespace + "/echo-3"})
	check(1, 1)
}
