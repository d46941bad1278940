package requests

import (
	"maps"
	"strings"
	"testing"
)

const apiServerText = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="echoes",subresource="status",verb="PATCH"} 5
apiserver_request_total{code="409",resource="echoes",subresource="status",verb="PATCH"} 1
apiserver_request_total{code="201",resource="deployments",subresource="",verb="APPLY"} 4
apiserver_request_total{code="201",resource="echoes",subresource="",verb="POST"} 4
apiserver_request_total{code="200",resource="events",subresource="",verb="LIST"} 90
apiserver_request_total{code="200",resource="secrets",subresource="",verb="LIST"} 3
apiserver_request_total{code="200",resource="",subresource="apis",verb="GET"} 2
apiserver_request_total{code="200",resource="",subresource="/readyz",verb="GET"} 2
apiserver_request_total{code="200",resource="pods",subresource="",verb="WATCH"} 7
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{resource="pods",subresource="",verb="WATCH"} 2
`

func TestServed(t *testing.T) {
	metrics, err := parseMetrics(strings.NewReader(apiServerText))
	if err != nil {
		t.Fatal(err)
	}
	found := Served(metrics)
	want := Counts{"PATCH echoes/status 200": 5, "PATCH echoes/status 409": 1, "APPLY deployments 201": 4, "GET apis 200": 2, "WATCH pods": 2}
	if !maps.Equal(found, want) {
		t.Errorf("the requests are %v, not %v", found, want)
	}
	if conflicts, effective := found.Sum(IsConflict), found.Sum(IsEffective); conflicts != 1 || effective != 9 {
		t.Errorf("%v conflicts and %v effective writes, not 1 and 9", conflicts, effective)
	}
	added := found.Since(Counts{"PATCH echoes/status 200": 5, "APPLY deployments 201": 1})
	if want := (Counts{"PATCH echoes/status 409": 1, "APPLY deployments 201": 3, "GET apis 200": 2, "WATCH pods": 2}); !maps.Equal(added,
		want) {
		t.Errorf("%v were added, not %v", added, want)
	}
}

func TestOperatorMetrics(t *testing.T) {
	metrics, err := parseMetrics(strings.NewReader(`# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="echo",result="success"} 7
controller_runtime_reconcile_total{controller="echo",result="error"} 2
controller_runtime_reconcile_total{controller="companion",result="success"} 5
# TYPE go_gc_gogc_percent gauge
go_gc_gogc_percent 50
# TYPE go_memstats_next_gc_bytes gauge
go_memstats_next_gc_bytes 3e+06
`))
	if err != nil {
		t.Fatal(err)
	}
	if n := Reconciles(metrics); n != 9 {
		t.Errorf("%v reconciles, not 9", n)
	}
	if live := LiveHeap(metrics); live != 2e6 {
		t.Errorf("the live heap is %v, not 2e6", live)
	}
}

func TestSent(t *testing.T) {
	metrics, err := parseMetrics(strings.NewReader(`# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 9
rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"} 5
rest_client_requests_total{code="409",host="127.0.0.1:1",method="PATCH"} 1
rest_client_requests_total{code="201",host="127.0.0.1:1",method="POST"} 4
`))
	if err != nil {
		t.Fatal(err)
	}
	sent := Sent(metrics)
	if want := (Counts{"GET 200": 9, "PATCH 200": 5, "PATCH 409": 1, "POST 201": 4}); !maps.Equal(sent, want) {
		t.Errorf("the requests are %v, not %v", sent, want)
	}
	if all, own, writes, conflicts := sent.Sum(IsAny), sent.Sum(IsNoReview), sent.Sum(IsWrite), sent.Sum(IsConflict); all != 19 || own != 15 ||
		writes != 6 || conflicts != 1 {
		t.Errorf("%v requests, %v without reviews, %v writes, and %v conflicts, not 19, 15, 6 and 1", all, own, writes, conflicts)
	}
}
