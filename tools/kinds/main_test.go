package main

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/echo-operator/echo-operator/internal/children/desired"
)

// TestWrite_filesAreCurrent: the tests of who reads these files rely on it.
func TestWrite_filesAreCurrent(t *testing.T) {
	for what, file := range map[string]string{"table": "internal/kinds/table.go", "rights": "controllers/zz_generated.rights.go"} {
		var want bytes.Buffer
		if err := write(&want, what); err != nil {
			t.Fatal(err)
		}
		if got := read(t, file); got != want.String() {
			t.Errorf("%s is not what follows from the table of kinds: run `make generate manifests`", file)
		}
	}
}

// TestWrite_schemas: without its schema the operator cannot compare a child.
func TestWrite_schemas(t *testing.T) {
	for what, file := range map[string]string{"schema": "schema.yaml", "gateway-schema": "schema_gateway.yaml"} {
		var types bytes.Buffer
		if err := write(&types, what); err != nil {
			t.Fatal(err)
		}
		schema := read(t, "internal/children/apply/"+file)
		for name := range strings.Lines(types.String()) {
			if !strings.Contains(schema, "- name: "+name) {
				t.Errorf("%s lacks %s: run `make generate`", file, strings.TrimSpace(name))
			}
		}
	}
}

func TestWrite_unknown(t *testing.T) {
	if err := write(&bytes.Buffer{}, "other"); err == nil {
		t.Error("it writes something that nobody asked for")
	}
}

func TestSchemaName(t *testing.T) {
	for of, want := range map[reflect.Type]string{
		reflect.TypeFor[corev1.Service]():      "io.k8s.api.core.v1.Service",
		reflect.TypeFor[gatewayv1.HTTPRoute](): "io.k8s.sigs.gateway-api.apis.v1.HTTPRoute",
	} {
		if got := schemaName(of); got != want {
			t.Errorf("the name of %s is %s", of, got)
		}
	}
}

// TestConsole_showsEveryKind: the OpenShift console shows those objects of an Echo that this marker names, in its order.
func TestConsole_showsEveryKind(t *testing.T) {
	_, marker, found := strings.Cut(read(t, "api/v1/echo_types.go"), "// +operator-sdk:csv:customresourcedefinitions:displayName=\"Echo\",resources={")
	marker, _, _ = strings.Cut(marker, "\n")
	for _, kind := range desired.Table() {
		if entry := "{" + kind.Kind + "," + kind.Version + ","; !found || !strings.Contains(marker, entry) {
			t.Errorf("add %s%q} to resources= in api/v1/echo_types.go", entry, kind.Resource().GroupResource())
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
