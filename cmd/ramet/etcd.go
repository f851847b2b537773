//go:build !no_etcd

package main

import (
	"context"
	"log/slog"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
)

// checkEtcd looks at the URL of such a board.
func checkEtcd(url string) error { return etcdboard.CheckURL(url) }

// openEtcd opens a board on etcd.
func openEtcd(ctx context.Context, url string, log *slog.Logger) (board.Board, error) {
	b, err := etcdboard.Open(ctx, url, etcdboard.Config{Logger: log})
	if err != nil {
		return nil, err // not b: a nil *Board is no nil board.Board
	}
	return b, nil
}
