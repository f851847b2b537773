//go:build no_etcd

package main

import (
	"context"

	"github.com/ramet-run/ramet/board"
)

func init() { without = append(without, "etcd") }

func checkEtcd(string) error { return leftOut("board on etcd", "no_etcd") }

func openEtcd(context.Context, options) (board.Board, error) {
	return nil, leftOut("board on etcd", "no_etcd")
}
