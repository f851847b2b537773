package main

import (
	"context"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board/encryptedboard"
	"github.com/ramet-run/ramet/board/meteredboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/format"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/node"
)

// openBoard opens the board, and what keeps actors and rights on it.
func (p *parts) openBoard(ctx context.Context, o options) (err error) {
	if err := o.leavesNothing(ctx); err != nil {
		return err
	}
	if err := backup.BrokenOff(o.dataDir); err != nil {
		return err
	}
	if p.board, err = openBoard(ctx, o); err != nil {
		return err
	}
	if err := backup.Unfinished(ctx, p.board); err != nil {
		return err
	}
	if err := backup.Settled(o.dataDir); err != nil {
		return err
	}
	p.store = p.board
	p.evictions = evictionsOf(p.board)
	p.keeps(p.board)
	if err := format.Ours.CheckBoard(ctx, p.board); err != nil {
		return err
	}
	if kind := boardKind(o.boardURL); (kind == "redis" || kind == "etcd") && !o.acceptLoss {
		if err := node.KnowsBoard(ctx, p.board, o.dataDir, domain.HideURL(o.boardURL)); err != nil {
			return err
		}
	}
	if err := p.upgradeBoard(ctx, o); err != nil {
		return err
	}
	if p.secrecy, err = encryption.Open(ctx, p.board, p.sagas.secrets, o.log); err != nil {
		return err
	}
	switch b := p.board.(type) {
	case *redisboard.Board:
		p.taken = b.Taken
	case *pebbleboard.Board:
		p.boardSize = b.DiskSize
	}
	p.board = meteredboard.New(p.board, p.metrics)
	if dev := o.dev; dev != nil {
		dev.board = &faultyBoard{Board: p.board}
		p.board = dev.board
	}
	p.board = encryptedboard.New(p.board, p.secrecy)
	p.registry = identity.NewRegistry(precondition.Over(p.board))
	p.audit = identity.NewAuditLog(p.registry, o.log.With("log", "audit"))
	p.access = identity.NewAccess(p.registry, p.audit)
	return nil
}
