// Package grpc serves calls of gRPC, gRPC-Web and Connect: echoes, health and reflection.
package grpc
