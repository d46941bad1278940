package packaging

import (
	"regexp"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// healthPage is the documentation page that contains the health check for Argo CD.
const healthPage = "docs/how-to/gitops.md"

// healthCheck reads the script from the documented ConfigMap as Argo CD does.
func healthCheck(t *testing.T) string {
	t.Helper()
	manifest := regexp.MustCompile(`(?s)<<'END'\n(.*?)\nEND\n`).FindStringSubmatch(text(t, healthPage))
	if manifest == nil {
		t.Fatalf("%s has no manifest", healthPage)
	}
	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(manifest[1]), &config); err != nil {
		t.Fatal(err)
	}
	script := config.Data["resource.customizations.health.example.com_Echo"]
	if script == "" {
		t.Fatalf("%s has no health check for the kind Echo", healthPage)
	}
	return script
}

// health runs a health check script for an object, and returns the result. The script can use only the base library, because Argo CD does
// not open all Lua libraries by default.
func health(t *testing.T, script string, object any) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.Push(state.NewFunction(lua.OpenBase))
	state.Push(lua.LString(lua.BaseLibName))
	state.Call(1, 0)
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the health check returned %v", state.Get(-1))
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
}

// luaValue converts a JSON value to Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, each := range value {
			table.RawSetString(key, luaValue(state, each))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, each := range value {
			table.Append(luaValue(state, each))
		}
		return table
	case string:
		return lua.LString(value)
	case float64:
		return lua.LNumber(value)
	case bool:
		return lua.LBool(value)
	}
	return lua.LNil
}

// echoState contains the fields of an Echo that determine its health.
type echoState struct {
	Spec   struct{ Paused bool }
	Status struct {
		Phase      string
		Conditions []struct{ Type, Status string }
	}
}

// wantedHealth returns the health that Argo CD must report. Unlike the script, it reads the Echo's phase, which the operator determines
// separately from the conditions.
func (e echoState) wantedHealth() string {
	for _, condition := range e.Status.Conditions {
		if condition.Status == "True" && (condition.Type == "Degraded" || condition.Type == "Stalled") {
			return "Degraded"
		}
	}
	switch {
	case e.Status.Phase == "Failed":
		return "Degraded"
	case e.Spec.Paused:
		return "Suspended"
	case e.Status.Phase == "Ready":
		return "Healthy"
	}
	return "Progressing"
}

func TestHealthCheck_statuses(t *testing.T) {
	script, seen := healthCheck(t), map[string]int{}
	objects := read[map[string]map[string]any](t, "internal", "status", "testdata", "echoes.yaml")
	for name, echo := range read[map[string]echoState](t, "internal", "status", "testdata", "echoes.yaml") {
		want := echo.wantedHealth()
		seen[want]++
		if status, message := health(t, script, objects[name]); status != want || message != "m" {
			t.Errorf("%s: health is %s (%s), want %s", name, status, message, want)
		}
	}
	for _, status := range []string{"Healthy", "Progressing", "Degraded", "Suspended"} {
		if seen[status] == 0 {
			t.Errorf("no Echo is %s", status)
		}
	}
}

func TestHealthCheck_otherStatuses(t *testing.T) {
	const ready, stalled = `{type: Ready, status: "True"}`, `{type: Ready, status: "False"}, {type: Stalled, status: "True"}`
	for object, want := range map[string]string{
		`{metadata: {generation: 1}}`: "Progressing",
		`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [` + ready + `]}}`:   "Progressing",
		`{metadata: {generation: 2}, status: {observedGeneration: 2}}`:                                "Progressing",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [` + ready + `]}}`:   "Healthy",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [` + stalled + `]}}`: "Degraded",
	} {
		var echo map[string]any
		if err := yaml.Unmarshal([]byte(object), &echo); err != nil {
			t.Fatal(err)
		}
		if status, _ := health(t, healthCheck(t), echo); status != want {
			t.Errorf("%s: health is %s, want %s", object, status, want)
		}
	}
}
