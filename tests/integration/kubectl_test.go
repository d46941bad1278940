package integration

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("kubectl", func() {
	It("prints the columns of Echoes", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "printed"))
		Expect(kubectl(ctx, "get", "echo", "-n", echo.Namespace)).To(MatchRegexp(
			`^NAME +DESIRED +READY +PHASE +REASON +AGE\nprinted +2 +2 +Ready +AllPodsReady +\d+[sm]\S*\n$`))
	})

	It("waits for each condition", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		echo := createEcho(ctx, checkedEcho(namespace, "web"))
		expectMet(ctx, echo, "Ready=false", "Progressing", "Degraded=false", "PathsHealthy=unknown")
		rollOut(ctx, namespace, echo.Name)
		run(ctx, echo, "web-path", string(verdict.Verdict{Facts: 2}.Encode()))
		expectMet(ctx, echo, "Ready", "Progressing=false", "Degraded=false", "PathsHealthy")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Replicas = new(int32(maxReplicas + 1)) })
		expectMet(ctx, echo, "Stalled", "Ready=false", "Progressing=false", "Degraded")
	})

	It("lists the events of an Echo, and describes it with its message", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "followed"))
		other := createReadyEcho(ctx, support.Echo(echo.Namespace, "other"))
		for _, each := range []*v1.Echo{echo, other} {
			expectEvents(ctx, each, "Deployed", "Ready")
		}
		Expect(kubectl(ctx, "events", "--for", "echo/followed", "-n", echo.Namespace)).To(MatchRegexp(
			`^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n(\S+ +Normal +(Deployed|Ready) +Echo/followed +.*\n){2}$`))
		described := kubectl(ctx, "describe", "echo", "followed", "-n", echo.Namespace)
		Expect(described).To(And(MatchRegexp(`(?m)^  Message: +`+echo.Status.Message+`$`), MatchRegexp(`(?m)^  Phase: +Ready$`)))
		Expect(described).To(MatchRegexp(
			`(?m)^Events:\n  Type +Reason +Age +From +Message\n.*\n(  Normal +(Deployed|Ready) +\S+ +echo-operator +.*\n){2}$`))
	})

	It("explains each field of an Echo", func(ctx SpecContext) {
		var document struct {
			Components struct{ Schemas map[string]openAPISchema }
		}
		Expect(json.Unmarshal([]byte(kubectl(ctx, "get", "--raw", "/openapi/v3/apis/example.com/v1")), &document)).To(Succeed())
		echo, descriptions := document.Components.Schemas["com.example.v1.Echo"], map[string]string{}
		for _, path := range fieldPaths(reflect.TypeFor[v1.Echo]()) {
			description := echo.field(path).Description
			Expect(description).To(HavePrefix(path[len(path)-1]+" "), strings.Join(path, "."))
			descriptions[strings.Join(path, ".")] = description
		}
		for _, path := range []string{"spec", "spec.resources", "spec.response.faults.connection", "spec.gateway.backendTLS.caConfigMap",
			"status.message", "status.checks.result"} {
			Expect(descriptions).To(HaveKey(path))
			Expect(strings.Join(strings.Fields(kubectl(ctx, "explain", "echo."+path)), " ")).To(
				ContainSubstring(" DESCRIPTION: " + descriptions[path]))
		}
	})
})

// expectMet expects that kubectl wait succeeds for the given conditions of an Echo.
func expectMet(ctx context.Context, echo *v1.Echo, conditions ...string) {
	GinkgoHelper()
	for _, condition := range conditions {
		Expect(kubectl(ctx, "wait", "--for=condition="+condition, "echo/"+echo.Name, "-n", echo.Namespace, "--timeout=1m")).To(
			HaveSuffix(" condition met\n"))
	}
}

// openAPISchema is the part of a schema that 'kubectl explain' reads.
type openAPISchema struct {
	Description string
	Properties  map[string]openAPISchema
	Items       *openAPISchema
}

// field returns the schema of the field at a path.
func (s openAPISchema) field(path []string) openAPISchema {
	for _, name := range path {
		for s.Items != nil {
			s = *s.Items
		}
		s = s.Properties[name]
	}
	return s
}

// fieldPaths returns the paths of all fields in an API type, except fields inside Kubernetes types.
func fieldPaths(t reflect.Type, parents ...string) (all [][]string) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1.Echo]().PkgPath() {
		return nil
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "metadata" {
			continue
		}
		path := append(slices.Clone(parents), name)
		all = append(append(all, path), fieldPaths(field.Type, path...)...)
	}
	return all
}
