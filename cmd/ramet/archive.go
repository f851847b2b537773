package main

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/encryptedarchive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// archiveFile is the embedded archive, in the data folder.
const archiveFile = "archive.db"

// archivePlace is where to archive, as the options say it.
type archivePlace struct {
	kind string // sqlite, postgres, none
	url  string // of postgres
	file string // of sqlite
	name string // for the board, without secrets; "" for none
}

// parseArchive reads the URL of an archive; "" is the default: a file in the
// data folder beside an embedded board, none otherwise.
//
// Errors: [domain.ErrInvalid].
func parseArchive(text, boardURL, dataDir string) (archivePlace, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "":
		if text == "" && boardKind(boardURL) != "embedded" {
			return archivePlace{kind: "none"}, nil
		}
		if text == "" {
			return sqlitePlace(archiveFile, boardURL, dataDir), nil
		}
	case "none":
		return archivePlace{kind: "none"}, nil
	case "sqlite":
		file := strings.TrimPrefix(rest, "//")
		if file == "" {
			file = archiveFile
		}
		return sqlitePlace(file, boardURL, dataDir), nil
	case "postgres", "postgresql":
		u, err := url.Parse(text)
		if err != nil {
			break
		}
		return archivePlace{kind: "postgres", url: text, name: publicName(u)}, nil
	}
	return archivePlace{}, domain.Invalidf("archive: want postgres://user:password@host/database, sqlite:FILE or none")
}

// sqlitePlace is an archive in a file. One in the folder of its board has a name
// that goes with that folder, wherever it is moved.
func sqlitePlace(file, boardURL, dataDir string) archivePlace {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dataDir, file)
	}
	name := file
	if inside, err := filepath.Rel(dataDir, file); err == nil && filepath.IsLocal(inside) && boardKind(boardURL) == "embedded" {
		name = inside
	}
	return archivePlace{kind: "sqlite", file: file, name: "sqlite:" + name}
}

// moved reports whether where an embedded board was archived, by an absolute path,
// is this place before the folder was moved: earlier versions wrote it so.
func (p archivePlace) moved(was string) bool {
	file, is := strings.CutPrefix(was, "sqlite:")
	if !is || !filepath.IsAbs(file) || filepath.IsAbs(strings.TrimPrefix(p.name, "sqlite:")) || filepath.Base(file) != filepath.Base(p.file) {
		return false
	}
	_, err := os.Stat(p.file)
	return err == nil
}

// publicName is a database's URL without who asks and how: two nodes that
// archive to the same place may log in as different users.
func publicName(u *url.URL) string {
	plain := url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path}
	keep := url.Values{}
	for _, name := range []string{"host", "port", "dbname", "schema"} {
		if v := u.Query().Get(name); v != "" {
			keep.Set(name, v)
		}
	}
	plain.RawQuery = keep.Encode()
	return plain.String()
}

func (p archivePlace) open(ctx context.Context, o options) (archive.Archive, error) {
	switch p.kind {
	case "sqlite":
		a, err := sqlitearchive.Open(ctx, p.file, sqlitearchive.Config{AcceptLoss: o.acceptLoss, Logger: o.log})
		if err != nil {
			return nil, err // not a: a nil *Archive is no nil archive.Archive
		}
		return a, nil
	case "postgres":
		return openPostgres(p.url)
	}
	return nil, nil
}

// openArchive opens the node's archive and tells the board of it. What the
// board knows goes before a default: a command on a folder whose node archives
// to a server must not begin another archive.
func openArchive(ctx context.Context, b board.Board, o options) (a archive.Archive, kind string, pair *clockwork.Pairing, err error) {
	place, err := parseArchive(o.archiveURL, o.boardURL, o.dataDir)
	if err != nil {
		return nil, "", nil, err
	}
	if o.acceptLoss && place.kind != "sqlite" && boardKind(o.boardURL) == "memory" && (o.streamURL == "" || o.streamURL == "off") {
		return nil, "", nil, domain.Invalidf("--accept-loss is for a damaged data folder, or a board that is gone; this board is in memory, its archive " +
			"elsewhere, and there are no streams")
	}
	engine := work.New(b, work.Config{})
	was, err := engine.Archive(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	moved := place.moved(was)
	if was != place.name && was != "" && o.archiveURL == "" && !moved {
		o.log.Warn("this node archives nothing: others of its board archive elsewhere; give it the same --archive", "archive", was)
		return nil, "none", nil, nil
	}
	if was != place.name && was != "" && !moved {
		if err := soleNode(ctx, b, was, o); err != nil {
			return nil, "", nil, err
		}
	}
	if a, err = place.open(ctx, o); err != nil {
		return nil, "", nil, err
	}
	if a != nil {
		pair = &clockwork.Pairing{Board: b, Archive: a, Where: place.name, New: was != place.name && !moved, Stays: o.serve, AcceptLoss: o.acceptLoss, Logger: o.log}
		if err = pair.Recognise(ctx); errors.Is(err, domain.ErrUnavailable) {
			err = nil // it is asked again as long as the node lives
		}
		if err != nil {
			a.Close()
			return nil, "", nil, err
		}
	}
	if was != place.name {
		if was != "" && !moved {
			o.log.Warn("what ends from now on is archived elsewhere; records stay where they are", "was", was, "is", place.kind)
		}
		if err = claimArchive(ctx, engine, was, place.name); err != nil {
			if a != nil {
				a.Close()
			}
			return nil, "", nil, err
		}
	}
	return a, place.kind, pair, nil
}

// claimArchive tells the board where it is archived from now on, instead of where this node has read that it was: two
// that begin at the same time would each have another archive.
func claimArchive(ctx context.Context, engine *work.Engine, was, where string) error {
	err := engine.SetArchive(ctx, was, where)
	if !errors.Is(err, domain.ErrConflict) {
		return err
	}
	is, err := engine.Archive(ctx)
	if err == nil && is != where {
		err = domain.Conflictf("another node, which began at the same time, archives this board to %s: give this node the same --archive", cmp.Or(is, "nowhere"))
	}
	return err
}

// soleNode refuses to change where a board is archived while other nodes live: each
// would have another archive.
func soleNode(ctx context.Context, b board.Board, was string, o options) error {
	if boardKind(o.boardURL) == "embedded" {
		return nil
	}
	for cursor := ""; ; {
		keys, next, err := b.Keys(ctx, 0, layout.NodePrefix, cursor, 100)
		if err != nil {
			return err
		}
		recs, err := board.Readable(b.Get(ctx, 0, keys...))
		if err != nil {
			return err
		}
		for i, r := range recs {
			seen, _ := strconv.ParseInt(r.Get(layout.NodeSeen), 10, 64)
			if age := b.Now().Sub(time.UnixMilli(seen)); age < domain.NodeSilence {
				return domain.Conflictf("node %s, which said %v ago that it is alive, and this board archive to %s: give this node the same --archive; "+
					"to archive elsewhere, stop all nodes first, and wait %v for those that were killed",
					strings.TrimPrefix(keys[i], layout.NodePrefix), age.Round(time.Second), was, domain.NodeSilence)
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// openArchive opens the archive, where there is one.
func (p *parts) openArchive(ctx context.Context, o options) (err error) {
	var pair *clockwork.Pairing
	if p.archive, p.archived, pair, err = openArchive(ctx, p.board, o); err != nil {
		return err
	}
	if p.archived == "sqlite" {
		place, err := parseArchive(o.archiveURL, o.boardURL, o.dataDir)
		if err != nil {
			return err
		}
		p.archiveFile = place.file
	}
	if pair != nil && o.serve {
		p.services = append(p.services, pair.Run)
	}
	if file, ok := p.archive.(*sqlitearchive.Archive); ok && o.serve {
		p.services = append(p.services, file.KeepChecked)
	}
	if p.archive != nil {
		if err := p.archiveFormat(ctx); err != nil && !errors.Is(err, domain.ErrUnavailable) {
			return err // one that is away is looked at when the node starts again
		}
		p.keeps(p.archive)
		p.bareArchive, p.archive = p.archive, encryptedarchive.New(p.archive, p.secrecy)
	}
	return nil
}
