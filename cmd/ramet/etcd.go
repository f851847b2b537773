//go:build !no_etcd

package main

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/node"
)

// checkEtcd looks at the URL of such a board.
func checkEtcd(url string) error { return etcdboard.CheckURL(url) }

// openEtcd opens a board on etcd. The clock of a command has no say there.
func openEtcd(ctx context.Context, o options) (board.Board, error) {
	folder, err := node.Folder(o.dataDir)
	if err != nil {
		return nil, err
	}
	b, err := etcdboard.Open(ctx, o.boardURL, etcdboard.Config{Logger: o.log, Passing: !o.serve, Folder: folder})
	if err != nil {
		return nil, err // not b: a nil *Board is no nil board.Board
	}
	return b, nil
}
