// Package grpc serves gRPC, gRPC-Web, and Connect calls: echoes, health, and reflection.
package grpc
