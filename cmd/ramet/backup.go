package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/stream"
)

// This file puts together what is backed up, restored and copied.

// kept are the files of a node that a backup has: who it is, and its keys.
var kept = []string{identity.OperatorKeyFile, identity.NodeKeyFile, identity.BusKeyFile, identity.StreamKeyFile, identity.KeysFolder, node.SelfFile}

// backup writes one of this node: the board, and what lies in its data folder.
func (p *parts) backup(ctx context.Context, to io.Writer) error {
	end, err := p.backing.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	src := backup.Source{Head: backup.Head{Kind: p.kind, Node: p.node.Name(), Program: version}, Board: p.store, Folder: p.options.dataDir, Names: kept}
	if p.archiveFile != "" {
		src.Archive = p.archive
	}
	if p.ownStreams {
		src.Streams, _ = p.streams.(stream.Copier)
	}
	if p.artifacts != nil {
		if p.ownArtifacts() {
			src.Artifacts = p.artifacts
		} else {
			src.Head.ArtifactsAt = p.artifacts.Where()
		}
	}
	s, err := backup.Write(ctx, to, src)
	if err != nil {
		return err
	}
	if len(s.Damaged) > 0 {
		p.log.WarnContext(ctx, "files that jobs left are damaged in the store, and so in the backup", "artifacts", s.Damaged)
	}
	if s.SpoiltRecords > 0 {
		p.log.WarnContext(ctx, "records are damaged in the archive, and so in the backup", "damaged", s.SpoiltRecords, "keys", s.Spoilt)
	}
	if len(s.Missing) > 0 {
		p.log.WarnContext(ctx, "files that jobs left are missing in the store, and so in the backup", "artifacts", s.Missing)
	}
	p.log.InfoContext(ctx, "node was backed up", "records", s.Records, "archived", s.Archived, "streams", s.Streams, "artifacts", s.Artifacts,
		"bytes", s.Bytes)
	return nil
}

// target is what is filled: a board that is open, in a data folder that is locked.
type target struct {
	options
	lock  *os.File
	board board.Board
}

func (t *target) close() error {
	var err error
	if t.board != nil {
		err = t.board.Close()
	}
	return errors.Join(err, t.lock.Close())
}

// alone says that nobody else can have the board open.
func (t *target) alone() bool { return boardKind(t.boardURL) == "embedded" }

func (t *target) side(name string) backup.Side {
	return backup.Side{Board: t.board, Name: domain.HideURL(name), Alone: t.alone()}
}

// openTarget opens the board that options name, for nobody else. begin is called before a board is made in the data
// folder, or once that of a server was reached: of one that cannot be nothing is left.
func openTarget(ctx context.Context, o options, begin func() error) (_ *target, err error) {
	if _, err := o.settle(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.dataDir, 0o700); err != nil {
		return nil, domain.FileErrorf(err, "make the data folder %q: %v", o.dataDir, err)
	}
	t := &target{options: o}
	if t.lock, err = node.Lock(ctx, o.dataDir, 0); err != nil {
		return nil, err
	}
	if t.alone() {
		err = begin()
	}
	if err == nil {
		t.board, err = openBoard(ctx, o)
	}
	if err == nil && !t.alone() {
		err = begin()
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// beginRestore notes in a data folder without a board that a restore has begun there, until the
// board itself says that it is not whole: a node that is started there would take the folder for
// a new one.
func beginRestore(dataDir string) error {
	if _, err := os.Stat(filepath.Join(dataDir, boardFolder)); err == nil {
		return nil // it is another restore's, which has noted it, or a node's
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return domain.FileErrorf(err, "make the data folder %q: %v", dataDir, err)
	}
	// What an earlier run has noted stays.
	f, err := os.OpenFile(filepath.Join(dataDir, backup.RestoringFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return domain.FileErrorf(err, "note that a restore begins: %v", err)
	}
	return nil
}

// belong are what a data folder may have: what nodes make there, and what people put there
// for them. Names that end in "*" are beginnings.
var belong = []string{boardFolder, boardFolder + ".*", streamsFolder, "streams.*", "contexts", "nats", artifactFolder, identity.KeysFolder,
	"*.key", "*.key.part", "*.token", node.SelfFile, "node.lock", "format.json", "ramet.sock", "cookie", backup.RestoringFile, "*.db*", "*.yaml", "*.yml",
	"*.pem", "lost+found"}

// checkForeign refuses a folder that has something else than a node's: a home, say, whose
// owner would find the files of a node among his own.
//
// Errors: [domain.ErrConflict].
func checkForeign(dataDir string) error {
	list, err := os.ReadDir(dataDir)
	if err != nil {
		return nil // it is not there, or whoever makes it says why it cannot be
	}
	for _, f := range list {
		mine := strings.HasPrefix(f.Name(), ".") || slices.ContainsFunc(belong, func(pattern string) bool {
			is, _ := filepath.Match(pattern, f.Name())
			return is
		})
		if !mine {
			return domain.Conflictf("%s has %q, which is none of a node's: restore into a folder that is new or empty, or, beside what is there, with --overwrite",
				dataDir, f.Name())
		}
	}
	return nil
}

// restore fills a board from a backup.
func restore(ctx context.Context, o cli.RestoreOptions) (s backup.Summary, err error) {
	if err := checkForeign(o.DataDir); err != nil && !o.Overwrite {
		return s, err
	}
	t, err := openTarget(ctx, options{dataDir: o.DataDir, boardURL: o.BoardURL, archiveURL: o.ArchiveURL, configFile: o.ConfigFile, mayLose: true},
		func() error { return beginRestore(o.DataDir) })
	if err != nil {
		return s, err
	}
	// A node begins where there is a board: on a new one, in this folder or a server's, of which nothing is filled yet,
	// it would begin as a new one.
	begun := backup.BrokenOff(o.DataDir) != nil
	_, none := os.Stat(filepath.Join(o.DataDir, artifactFolder))
	defer func() {
		refused := (*backup.Refusal)(nil)
		switch {
		case errors.As(err, &refused) && begun:
			if none != nil {
				_ = os.Remove(filepath.Join(o.DataDir, artifactFolder)) // of which none has been written
			}
			err = errors.Join(err, t.leave(refused.Empty))
		// Where the board says that it is not whole, it says more than the folder does.
		case (err == nil || !begun) && backup.Unfinished(ctx, t.board) == nil:
			err = errors.Join(err, backup.Settled(o.DataDir))
		}
		err = errors.Join(err, t.close())
	}()
	place, err := parseArchive(t.archiveURL, t.boardURL, t.dataDir)
	if err != nil {
		return s, err
	}
	to := backup.Target{Board: t.board, Folder: t.dataDir, Alone: t.alone(), Overwrite: o.Overwrite, From: o.Name, Progress: o.Progress, Where: place.name,
		NoArchive: t.archiveURL == "none", Streams: t.openStreams, StreamsFolder: filepath.Join(t.dataDir, streamsFolder)}
	if place.kind != "none" {
		to.Archive = func(ctx context.Context, anew bool) (archive.Archive, error) {
			return t.openArchive(ctx, place, anew)
		}
	}
	if to.Artifacts, err = openArtifactStore(t.artifactURL, t.boardURL, t.dataDir); err != nil {
		return s, err
	}
	to.NoArtifacts = t.artifactURL == "none"
	if to.Artifacts != nil {
		defer func() { err = errors.Join(err, to.Artifacts.Close()) }()
	}
	return backup.Restore(ctx, o.From, to)
}

// leave leaves the data folder as it was before a restore that was refused. The note that says no more than that a
// board's own folder may have been made goes last, with that folder if nothing is on the board: a node that stands on
// another board would not start for the one, nor on its own for the other.
func (t *target) leave(empty bool) error {
	if !backup.OnlyBegun(t.dataDir) {
		return nil
	}
	own := filepath.Join(t.dataDir, boardFolder)
	if _, err := os.Stat(own); err == nil && !t.alone() {
		return nil // what has begun is a restore onto that one
	}
	if empty && t.alone() {
		err := t.board.Close()
		t.board = nil
		if err = errors.Join(err, os.RemoveAll(own)); err != nil {
			return domain.FileErrorf(err, "remove the board that the restore has made: %v", err)
		}
	}
	return backup.Settled(t.dataDir)
}

// openArchive opens an archive to be filled. One in a file is made anew where what it has
// may go.
func (t *target) openArchive(ctx context.Context, place archivePlace, anew bool) (archive.Archive, error) {
	if place.kind == "sqlite" && anew {
		for _, side := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(place.file + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, domain.FileErrorf(err, "remove the archive: %v", err)
			}
		}
	}
	return place.open(ctx, t.options)
}

// openStreams opens the streams of the data folder. The keys of the node are there already.
func (t *target) openStreams(ctx context.Context) (stream.Log, error) {
	keys, err := identity.OpenKeyring(t.dataDir)
	if err != nil {
		return nil, err
	}
	p := &parts{options: t.options, board: t.board, keys: keys, log: t.log}
	return p.openStream(ctx, "nats:", t.dataDir, nil, true, t.log)
}

// copyBoard fills one board from another.
func copyBoard(ctx context.Context, o cli.CopyOptions) (s backup.Summary, err error) {
	var both [2]*target
	for i, name := range []string{o.From, o.To} {
		at, err := boardNamed(name)
		if err != nil {
			return s, err
		}
		if i == 0 && boardKind(at.boardURL) == "embedded" {
			if _, err := os.Stat(filepath.Join(at.dataDir, boardFolder)); err != nil {
				return s, domain.NotFoundf("%s has no board; want a data folder, or the URL of a board", at.dataDir)
			}
		}
		if i == 1 && at.dataDir != "" {
			if err := backup.BrokenOff(at.dataDir); err != nil { // a whole board there would not make the rest whole
				return s, fmt.Errorf("%w; or copy into another folder", err)
			}
		}
		scratch := ""
		if at.dataDir == "" { // a lock is for a folder
			if scratch, err = os.MkdirTemp("", "ramet-copy-"); err != nil {
				return s, domain.Unavailablef("make a folder: %v", err)
			}
			defer os.RemoveAll(scratch)
			at.dataDir = scratch
		}
		if both[i], err = openTarget(ctx, at, func() error { return nil }); err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, both[i].close()) }()
	}
	return backup.Copy(ctx, both[0].side(o.From), both[1].side(o.To), o.Overwrite, o.Progress)
}

// boardNamed says which board a word names: a URL, or the data folder that has it.
func boardNamed(name string) (options, error) {
	scheme, _, is := strings.Cut(name, "://")
	switch {
	case !is && strings.HasPrefix(name, "mem:"), scheme == "mem":
		return options{}, domain.Invalidf("a board in memory is gone when the command ends")
	case !is:
		return options{dataDir: name, mayLose: true}, nil
	}
	return options{boardURL: name, mayLose: true}, nil
}
