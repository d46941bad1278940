package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun_failures checks that a failure is not mistaken for code that has not changed. `make verify` shows that the code is current.
func TestRun_failures(t *testing.T) {
	folder := t.TempDir()
	failing := filepath.Join(folder, "plugin")
	for file, content := range map[string]string{
		"a.proto":         "syntax = \"proto3\";\npackage a;\n",
		"invalid/a.proto": "message",
		"plugin":          "#!/bin/sh\nprintf '\\n\\016no such option'\n", // a CodeGeneratorResponse with an error
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"too few arguments": {[]string{"a", "b"}, "give a directory"},
		"not a .proto file": {[]string{filepath.Join(folder, "invalid"), folder, failing}, "a.proto:"},
		"no such plugin":    {[]string{folder, folder, "/none"}, "/none:"},
		"a plugin fails":    {[]string{folder, folder, failing}, "no such option"},
	} {
		if err := run(t.Context(), c.arguments); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}
