package main

import (
	"context"
	_ "embed" // for the descriptors
	"errors"
	"io"
)

// maxReflected is the maximum size of a request for reflection, which the response contains, in bytes.
const maxReflected = 4 << 10

// descriptors is the FileDescriptorSet of all services. A test in tests/clients/grpc generates it.
//
//go:embed proto/descriptors.binpb
var descriptors []byte

// The fields of ServerReflectionRequest. v1 and v1alpha have the same ones.
const (
	reflectHost     = 1
	reflectFile     = 3
	reflectSymbol   = 4
	reflectServices = 7
)

func serveReflection(ctx context.Context, c *grpcCall) error {
	for {
		message, err := c.receive(ctx, betweenMessages)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := reflection(message.data)
		message.release()
		if err == nil {
			err = c.send(response)
		}
		if err != nil {
			return err
		}
	}
}

// reflection returns the ServerReflectionResponse to a ServerReflectionRequest.
func reflection(request []byte) (protobuf, error) {
	if len(request) > maxReflected {
		return nil, grpcErrorf(grpcInvalidArgument, "the request is larger than %d bytes", maxReflected)
	}
	var host, argument string
	var kind uint64
	err := eachField(request, func(f protobufField) {
		switch {
		case f.is(reflectHost, wireBytes):
			host = string(f.data)
		case f.wireType == wireBytes: // the last member of a oneof counts
			kind, argument = f.number, string(f.data)
		}
	})
	var response protobuf
	response.text(1, host)
	response.message(2, request)
	switch kind {
	case reflectServices:
		response.message(6, listServices())
	case reflectFile:
		appendFile(&response, argument, func(file descriptor) bool { return file.name == argument })
	case reflectSymbol:
		appendFile(&response, argument, func(file descriptor) bool { return file.declares(argument) })
	default: // there are no extensions
		appendFile(&response, argument, func(descriptor) bool { return false })
	}
	return response, err
}

// listServices returns a ListServiceResponse.
func listServices() protobuf {
	var list protobuf
	for _, file := range descriptorFiles() {
		for _, service := range file.services {
			var entry protobuf
			entry.text(1, service)
			list.message(1, entry)
		}
	}
	return list
}

// appendFile appends a FileDescriptorResponse with the file that matches, or an ErrorResponse. No file imports another.
func appendFile(response *protobuf, argument string, matches func(descriptor) bool) {
	var answer protobuf
	for _, file := range descriptorFiles() {
		if matches(file) {
			answer.message(1, file.data)
			response.message(4, answer)
			return
		}
	}
	answer.varint(1, uint64(grpcNotFound))
	answer.text(2, "not found: "+cut(argument))
	response.message(7, answer)
}
