//go:build !no_grpc

package main

import "github.com/ramet-run/ramet/effect/grpceffect"

// openGRPC opens an effect that calls a gRPC service.
var openGRPC = grpceffect.Open
