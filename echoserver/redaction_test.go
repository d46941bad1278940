package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedaction(t *testing.T) {
	given := http.Header{"Authorization": {"Bearer hunter2", "hunter2", "hunter2 trailing", "Basic " + strings.Repeat("x", 100)},
		"Cookie": {"session=hunter2"}, "X-Token": {"hunter2"}, "X-Plain": {"hunter2"}}
	const hunter2 = "[redacted: 7 bytes, sha256 f52fbd32]"
	usual := http.Header{"Authorization": {"Bearer " + hunter2, hunter2, "[redacted: 16 bytes, sha256 8f299a51]", "Basic [redacted: 100 bytes, sha256 09ecb6eb]"},
		"Cookie": {"[redacted: 15 bytes, sha256 3a945450]"}, "X-Token": {"hunter2"}, "X-Plain": {"hunter2"}}
	more := usual.Clone()
	more["X-Token"] = []string{hunter2}
	for setting, want := range map[string]http.Header{"": usual, "x-token": more, "x-token , X-Other": more, "none": given} {
		names, err := parseRedaction(setting)
		if err != nil {
			t.Fatal(err)
		}
		before := given.Clone()
		if diff := cmp.Diff(want, names.apply(given)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", setting, diff)
		}
		if !cmp.Equal(before, given) {
			t.Errorf("%q changes the request", setting)
		}
	}
	if _, err := parseRedaction("a b"); err == nil {
		t.Error("a name with a space is accepted")
	}
}

func TestSecretsAreShownNowhere(t *testing.T) {
	h := handlerOf(t)
	for _, format := range []string{"json", "text", "html"} {
		got := answered(h, "/?echo.format="+format, "Authorization", "Bearer hunter2", "Cookie", "a=hunter2", "Proxy-Authorization", "hunter2", "X-Api-Key", "hunter2")
		if strings.Contains(got.Body.String(), "hunter2") || !strings.Contains(got.Body.String(), "[redacted: ") {
			t.Errorf("%s: %s", format, got.Body)
		}
	}
}
