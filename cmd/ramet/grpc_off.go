//go:build no_grpc

package main

import "github.com/ramet-run/ramet/effect"

func init() { without = append(without, "grpc") }

func openGRPC(d effect.Definition, _ effect.Host) (effect.Provider, error) {
	return nil, d.Errorf("kind", "%v", leftOut("grpc", "no_grpc"))
}
