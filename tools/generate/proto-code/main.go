// proto-code compiles .proto files, and writes the code that protoc plugins generate from them.
//
// usage: proto-code SOURCE TARGET PLUGIN[=PARAMETERS]...
//
// SOURCE is a directory with .proto files. The names of the generated files are relative to the directory TARGET.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "proto-code: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) < 3 {
		return errors.New("give a directory with .proto files, a directory for code, and plugins")
	}
	files, err := compile(ctx, arguments[0])
	if err != nil {
		return err
	}
	for _, each := range arguments[2:] {
		plugin, parameters, _ := strings.Cut(each, "=")
		response, err := generate(ctx, plugin, newRequest(files, parameters))
		if err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
		if err := write(arguments[1], response); err != nil {
			return err
		}
	}
	return nil
}

// compile compiles a directory's .proto files. They must not import others, because newRequest does not add imports to the request.
func compile(ctx context.Context, folder string) (linker.Files, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.proto"))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{folder}},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments
	}
	return compiler.Compile(ctx, names...)
}

// newRequest returns the request that is sent to a plugin.
func newRequest(files linker.Files, parameters string) *pluginpb.CodeGeneratorRequest {
	request := &pluginpb.CodeGeneratorRequest{Parameter: new(parameters)}
	for _, file := range files {
		request.FileToGenerate = append(request.FileToGenerate, file.Path())
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(file))
	}
	return request
}

// generate runs a plugin.
func generate(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	input, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, plugin)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(output, response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, errors.New(response.GetError())
	}
	return response, nil
}

// write writes the generated files.
func write(folder string, response *pluginpb.CodeGeneratorResponse) error {
	for _, file := range response.GetFile() {
		path := filepath.Join(folder, file.GetName())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
