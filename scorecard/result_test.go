package main

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestResults(t *testing.T) {
	for want, r := range map[string]result{
		`{"name":"a","state":"pass","log":"went well"}`:            resultOf("a", nil, nil, "went well"),
		`{"name":"a","state":"fail","errors":["x"]}`:               resultOf("a", []string{"x"}, nil, ""),
		`{"name":"a","state":"error","errors":["x","no cluster"]}`: resultOf("a", []string{"x"}, errors.New("no cluster"), ""),
	} {
		if got, err := json.Marshal(r); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestRun(t *testing.T) {
	const folder = "../bundle"
	for _, c := range []struct{ name, folder, namespace, want string }{
		{"descriptors", folder, "", "pass"},
		{"descriptors", "nowhere", "", "error"},
		{"examples", folder, "", "error"},
		{"examples", folder, "outside-of-a-cluster", "error"},
	} {
		if got := run(t.Context(), c.name, c.folder, c.namespace); got.State != c.want || got.Name != c.name {
			t.Errorf("%s with the bundle %s in %q: %+v, want %s", c.name, c.folder, c.namespace, got, c.want)
		}
	}
	if _, err := (&cluster{}).run(t.Context(), "nothing", own); err == nil {
		t.Error("a test that does not exist was run")
	}
}
