package main

import (
	"strings"
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestTable(t *testing.T) {
	f := figures{
		"there.operator.requests": {6, 6.06, 6.12}, "there.raw.requests": {6, 6, 6},
		"arriving.operator.cpu.sum": {20, 30}, "arriving.raw.cpu.sum": {20, 25},
		"restart.resident": {111}, "failover.clean": {1, 2.5}, "start.resident": {48},
	}
	text := f.table((&benchmark{large: 2000}).rows())
	const want = `| metric | measured | compared with | ratio | goal | met |
|---|---|---|---|---|---|
| requests for an Echo that exists | 6.060 (6.000-6.120) | 6.000 (6.000-6.000) | 1.01 (1.00-1.02) | <= 1.01 x | yes |
| CPU of all for an Echo that arrives | 25.00 (20.00-30.00) ms | 22.50 (20.00-25.00) ms | 1.10 (1.00-1.20) | <= 1.35 x | yes |
| RSS, 1 Echo | 48.0 MB | - | - | - | - |
| RSS, 2000 Echoes | 111.0 MB | - | - | <= 110 MB | **no** |
| failover, clean | 1.75 (1.00-2.50) s | - | - | <= 2.5 s | yes |
`
	if text != want {
		t.Errorf("the table is\n%s", text)
	}
}

func TestSumOf(t *testing.T) {
	const page = `# TYPE requests counter
requests{code="200",method="GET"} 9
requests{code="409",method="PATCH"} 1
requests_total{code="409"} 5
`
	if all, conflicts := sumOf(page, "requests", ""), sumOf(page, "requests", `code="409"`); all != 10 || conflicts != 1 {
		t.Errorf("%v requests and %v conflicts", all, conflicts)
	}
}

func TestWriteTo(t *testing.T) {
	recorded := &v1.Echo{Name: "echo-99999", UID: "11111111-1111-1111-1111-111111111111"}
	echo := &v1.Echo{Name: "echo-00001", UID: "22222222-2222-2222-2222-222222222222", ResourceVersion: "7"}
	for body, want := range map[string]string{
		`{"name":"echo-99999","resourceVersion":"1"}`: `{"name":"echo-00001","resourceVersion":"1"}`,
		`{"resourceVersion":"101","uid":"UID"}`:       `{"resourceVersion":"7","uid":"UID"}`,
	} {
		body, want = strings.ReplaceAll(body, "UID", string(recorded.UID)), strings.ReplaceAll(want, "UID", string(echo.UID))
		w := write{uri: "/echoes/echo-99999", body: []byte(body), version: aVersion.Find([]byte(body))}
		if uri, got := w.to(echo, recorded); uri != "/echoes/echo-00001" || string(got) != want {
			t.Errorf("%s %s, not %s", uri, got, want)
		}
	}
}
