package main

import (
	"reflect"
	"testing"
)

func TestOpen(t *testing.T) {
	first := entry{Name: "echo-operator.v0.1.0", SkipRange: ">=0.0.1 <0.1.0"}
	second := entry{Name: "echo-operator.v0.2.0", Replaces: "echo-operator.v0.1.0", SkipRange: ">=0.0.1 <0.2.0"}
	alone := entry{Name: "echo-operator.v0.2.0", SkipRange: ">=0.0.1 <0.2.0"}
	candidate := func(entries ...entry) channel { return channel{"olm.channel", pkg, "candidate", entries} }
	stable := func(entries ...entry) channel { return channel{"olm.channel", pkg, "stable", entries} }
	for name, c := range map[string]struct {
		before     []channel
		unreleased string
		channels   []string
		after      []channel
	}{
		"after a release":        {[]channel{candidate(first)}, "", []string{"candidate"}, []channel{candidate(first, second)}},
		"instead of unreleased":  {[]channel{candidate(first)}, "0.1.0", []string{"candidate"}, []channel{candidate(alone)}},
		"again":                  {[]channel{candidate(first, second)}, "", []string{"candidate"}, []channel{candidate(first, second)}},
		"in a new channel, too":  {[]channel{candidate(first)}, "", []string{"candidate", "stable"}, []channel{candidate(first, second), stable(alone)}},
		"not in another channel": {[]channel{candidate(first), stable(first)}, "", []string{"candidate"}, []channel{candidate(first, second), stable(first)}},
		"an empty channel":       {[]channel{candidate(first), stable(first)}, "0.1.0", []string{"candidate"}, []channel{candidate(alone)}},
	} {
		if got := open(c.before, "0.2.0", c.unreleased, c.channels); !reflect.DeepEqual(got, c.after) {
			t.Errorf("%s: %+v, want %+v", name, got, c.after)
		}
	}
}
