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
