package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file writes a backup.

// Source is what is backed up.
type Source struct {
	// Head names it; what is in it is filled in.
	Head Head
	// Board as it lies in its store: what is encrypted stays so. Required.
	Board board.Board
	// Archive of the board, likewise. Nil: it is not part of the backup.
	Archive archive.Archive
	// Streams of the board's sagas. Nil: they are not part of the backup.
	Streams stream.Copier
	// Artifacts are the files that jobs left. Nil: they are not part of the backup, and
	// Head.ArtifactsAt says where they are.
	Artifacts artifact.Store
	// Folder and Names are files of the node, by their names in its folder: a name of a
	// folder stands for the files in it. Those that are not there are passed over.
	Folder string
	Names  []string
}

// File is a file of a node.
type file struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// maxFile bounds a file of a node: they are keys and small settings.
const maxFile = 1 << 20

// Write writes a backup. Board and archive are as they were when it began; of the
// streams what came meanwhile is there, too.
//
// Errors: those of what is read, and of the writer. What was written then has no end,
// by which everybody who reads it knows that it is not whole.
func Write(ctx context.Context, to io.Writer, src Source) (s Summary, err error) {
	s.Head = src.Head
	s.Head.Archive, s.Head.Streams, s.Head.Files = src.Archive != nil, src.Streams != nil, len(src.Names) > 0
	s.Head.AtMs = time.Now().UnixMilli()
	if err := Unfinished(ctx, src.Board); err != nil {
		return s, err
	}
	b := src.Board
	if one, ok := b.(board.Snapshotter); ok {
		if b, err = one.Snapshot(ctx); err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		s.Head.Whole = true
	}
	// The archive after the board: what one has given up, the other has.
	var rows archive.Snapshot
	if src.Archive != nil {
		if rows, err = src.Archive.Snapshot(ctx); err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
	}
	recs, err := b.Get(ctx, 0, layout.Identity)
	if err != nil {
		return s, err
	}
	s.Head.Board = recs[0].Get(layout.IdentityID)
	spaces, err := b.Spaces(ctx)
	if err != nil {
		return s, err
	}
	if s.Head.Artifacts, err = hasArtifacts(ctx, src.Artifacts, spaces); err != nil {
		return s, err
	}
	w, err := NewWriter(to)
	if err != nil {
		return s, err
	}
	if err := w.object('h', s.Head); err != nil {
		return s, err
	}
	for _, part := range []func() error{
		func() error { return w.files(src, &s) },
		func() error { return w.board(ctx, b, &s) },
		func() error { return w.archive(ctx, rows, &s) },
		func() error { return w.streams(ctx, src.Streams, &s) },
		func() error { return w.artifacts(ctx, src, b, spaces, &s) },
	} {
		if err := part(); err != nil {
			return s, err
		}
	}
	err = w.end(s)
	s.Bytes = w.bytes
	return s, err
}

// files writes the files of the node.
func (w *Writer) files(src Source, s *Summary) error {
	for _, name := range src.Names {
		err := filepath.WalkDir(filepath.Join(src.Folder, name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(src.Folder, path)
			if err != nil || len(data) > maxFile {
				return err // what is larger is nobody's key
			}
			s.Files++
			return w.object('f', file{filepath.ToSlash(rel), data})
		})
		if err != nil {
			return domain.FileErrorf(err, "back up %q: %v", name, err)
		}
	}
	return nil
}

// board writes the items of a board.
func (w *Writer) board(ctx context.Context, b board.Board, s *Summary) error {
	block, sum, spaces := []byte(nil), newDigest(), map[board.Space]struct{}{}
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		err := w.block('b', block)
		block = block[:0]
		return errors.Join(err, ctx.Err())
	}
	var err error
	s.Skipped, err = ahead(ctx, b, func(list []item) error {
		for _, it := range list {
			s.count(it)
			sum.add(it)
			spaces[it.space] = struct{}{}
			if block = it.append(block); len(block) >= wantBlock {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s.Spaces, s.Digest = len(spaces), sum.String()
	if err != nil {
		return err
	}
	return flush()
}

// count counts an item.
func (s *Summary) count(it item) {
	switch it.kind {
	case kindRecord:
		s.Records++
		if layout.SealedByNode(it.key, it.fields) {
			s.Sealed++
		}
	case kindList:
		if it.from == 0 {
			s.Lists++
		}
	case kindSet:
		if it.from == 0 {
			s.Sets++
		}
	case kindAlarm:
		s.Alarms++
	case kindLive:
		s.Live++
	case kindCounter:
		s.Counters++
	case kindLease:
		s.Leases++
	}
}

// lines gathers lines of JSON into blocks.
type lines struct {
	w    *Writer
	kind byte
	buf  bytes.Buffer
}

func (l *lines) add(v any) error {
	e := json.NewEncoder(&l.buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if l.buf.Len() >= wantBlock {
		return l.flush()
	}
	return nil
}

func (l *lines) flush() error {
	if l.buf.Len() == 0 {
		return nil
	}
	err := l.w.block(l.kind, l.buf.Bytes())
	l.buf.Reset()
	return err
}

// archive writes records and names.
func (w *Writer) archive(ctx context.Context, from archive.Snapshot, s *Summary) error {
	if from == nil {
		return nil
	}
	records, names := lines{w: w, kind: 'a'}, lines{w: w, kind: 'n'}
	err := from.Records(ctx, func(r archive.Record) error {
		s.Archived++
		s.spoilt(&r)
		return records.add(r)
	})
	if err == nil {
		err = records.flush()
	}
	if err == nil {
		err = from.Names(ctx, func(c archive.Claimed) error { s.Names++; return names.add(c) })
	}
	if err == nil {
		err = names.flush()
	}
	return err
}

// streams writes the event streams.
func (w *Writer) streams(ctx context.Context, from stream.Copier, s *Summary) error {
	if from == nil {
		return nil
	}
	for _, name := range domain.StreamNames {
		if err := w.block('s', []byte(name)); err != nil {
			return err
		}
		if err := from.Copy(ctx, name, chunks{w}); err != nil {
			return err
		}
		s.Streams++
	}
	return nil
}

// chunks writes the bytes of a stream as blocks.
type chunks struct{ w *Writer }

func (c chunks) Write(p []byte) (int, error) {
	if err := c.w.block('c', p); err != nil {
		return 0, err
	}
	return len(p), nil
}
