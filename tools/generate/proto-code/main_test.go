package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

const file = `syntax = "proto3";
package a;
// B is a message.
message B { string c = 1; }
`

// plugin creates a plugin that writes its request to a file, and responds with a message.
func plugin(t *testing.T, response *pluginpb.CodeGeneratorResponse) (path string, request func() *pluginpb.CodeGeneratorRequest) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "plugin")
	data, err := proto.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{path: "#!/bin/sh\ncat >$0.request\ncat $0.response\n", path + ".response": string(data)} {
		if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path, func() *pluginpb.CodeGeneratorRequest {
		request := &pluginpb.CodeGeneratorRequest{}
		if data, err := os.ReadFile(path + ".request"); err != nil || proto.Unmarshal(data, request) != nil {
			t.Fatalf("the request is %q, %v", data, err)
		}
		return request
	}
}

func source(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.proto"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestRun(t *testing.T) {
	path, request := plugin(t, &pluginpb.CodeGeneratorResponse{File: []*pluginpb.CodeGeneratorResponse_File{
		{Name: new("x/a.go"), Content: new("package x\n")}}})
	target := t.TempDir()
	if err := run(t.Context(), []string{source(t, file), target, path + "=module=m,simple"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(target, "x", "a.go")); string(got) != "package x\n" || err != nil {
		t.Errorf("the code is %q, %v", got, err)
	}
	got := request()
	if got.GetParameter() != "module=m,simple" || strings.Join(got.GetFileToGenerate(), " ") != "a.proto" || len(got.GetProtoFile()) != 1 {
		t.Fatalf("the request is %v", got)
	}
	described := got.GetProtoFile()[0]
	if described.GetMessageType()[0].GetName() != "B" || !strings.Contains(described.GetSourceCodeInfo().String(), "B is a message.") {
		t.Errorf("the file is described as %v", described)
	}
}

func TestRunErrors(t *testing.T) {
	failing, _ := plugin(t, &pluginpb.CodeGeneratorResponse{Error: new("no such option")})
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"too few arguments": {[]string{"a", "b"}, "give a directory"},
		"not a .proto file": {[]string{source(t, "message"), t.TempDir(), failing}, "a.proto:"},
		"no such plugin":    {[]string{source(t, file), t.TempDir(), "/none"}, "/none:"},
		"a plugin fails":    {[]string{source(t, file), t.TempDir(), failing}, "no such option"},
	} {
		if err := run(t.Context(), c.arguments); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}
