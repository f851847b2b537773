package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/ramet-run/ramet/format"
)

// alone is whether no other node can be on the board.
func (p *parts) alone() bool { return p.kind == "embedded" || p.kind == "memory" }

// openFolder checks the format of the data folder. One whose board lies in it is brought up
// to date before that is opened; one beside a shared board when the board is.
func (p *parts) openFolder(o options) error {
	if p.alone() {
		return format.Ours.OpenFolder(o.dataDir, version)
	}
	return format.Ours.CheckFolder(o.dataDir)
}

// formatKeeper sees to the format of the node's board; name is the node's, "" where it is
// not known yet.
func (p *parts) formatKeeper(name string) format.Keeper {
	return format.Keeper{Formats: format.Ours, Board: p.board, Node: name, Alone: p.alone(), Program: version, Logger: p.log}
}

// upgradeBoard brings the board up to date before anything else is written there. A
// command that is a node for a moment leaves that of others as it is.
func (p *parts) upgradeBoard(ctx context.Context, o options) (err error) {
	if p.alone() || o.serve {
		p.newest, err = p.formatKeeper("").Start(ctx)
	}
	return err
}

// streamsFormat checks the format of the node's own streams before they are opened, and
// brings it up to date where the board is.
func (p *parts) streamsFormat() error {
	dir := filepath.Join(p.options.dataDir, streamsFolder)
	if p.newest {
		return format.Ours.OpenStreams(dir, version)
	}
	return format.Ours.CheckStreams(dir)
}

// archiveFormat does the same with the archive.
func (p *parts) archiveFormat(ctx context.Context) error {
	if p.newest {
		return format.Ours.OpenArchive(ctx, p.archive, version)
	}
	return format.Ours.CheckArchive(ctx, p.archive)
}

// upgradeBelongings brings up to date what belongs to a board that is.
func (p *parts) upgradeBelongings(ctx context.Context) (err error) {
	err = format.Ours.OpenFolder(p.options.dataDir, version)
	if p.ownStreams {
		err = errors.Join(err, format.Ours.OpenStreams(filepath.Join(p.options.dataDir, streamsFolder), version))
	}
	if p.archive != nil {
		err = errors.Join(err, format.Ours.OpenArchive(ctx, p.archive, version))
	}
	return err
}
