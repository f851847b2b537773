package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func TestPlacesToArchive(t *testing.T) {
	for _, c := range []struct{ name, url, board, kind, place string }{
		{"beside an embedded board", "", "", "sqlite", "sqlite:archive.db"},
		{"beside a shared board there is none", "", "redis://h", "none", ""},
		{"beside a board in memory there is none", "", "mem:", "none", ""},
		{"none", "none", "", "none", ""},
		{"a file of one's own", "sqlite:///srv/a.db", "redis://h", "sqlite", "sqlite:/srv/a.db"},
		{"a file in the data folder", "sqlite:mine.db", "", "sqlite", "sqlite:mine.db"},
		{"a file in the data folder, by its path", "sqlite:/d/sub/mine.db", "", "sqlite", "sqlite:sub/mine.db"},
		{"a file beside a shared board", "sqlite:mine.db", "redis://h", "sqlite", "sqlite:/d/mine.db"},
		{"a database, named without its secrets", "postgres://u:secret@h:5433/db?sslmode=require&schema=s&password=secret", "", "postgres",
			"postgres://h:5433/db?schema=s"},
		{"a database on a socket", "postgresql:///db?host=/run/pg&user=u", "", "postgres", "postgres:///db?host=%2Frun%2Fpg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseArchive(c.url, c.board, "/d")
			if err != nil || got.kind != c.kind || got.name != c.place {
				t.Errorf("got %+v, %v, want kind %q, name %q", got, err, c.kind, c.place)
			}
		})
	}
	for _, url := range []string{"mysql://u:secret@h", "archive.db", "postgres://u:secret@h:x/db", ":x"} {
		if _, err := parseArchive(url, "", "/d"); !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want one of kind invalid without the password", url, err)
		}
	}
}

// TestTheBoardRemembersItsArchive goes through the starts of nodes on one board.
func TestTheBoardRemembersItsArchive(t *testing.T) {
	dir := t.TempDir()
	b := memboard.Open()
	defer b.Close()
	embedded, other := "sqlite:"+archiveFile, "sqlite:other.db"
	for _, c := range []struct {
		name, url, kind, where string
		warns                  string
	}{
		{"the first start begins the default", "", "sqlite", embedded, ""},
		{"the second goes on with it", "", "sqlite", embedded, ""},
		{"another is named", other, "sqlite", other, "archived elsewhere"},
		{"a default does not take over from what was named", "", "none", other, "give it the same --archive"},
		{"none ends it", "none", "none", "", "archived elsewhere"},
		{"the default begins anew", "", "sqlite", embedded, ""},
		{"an earlier version named it by its path, and the folder was moved", "before:sqlite:/elsewhere/archive.db", "sqlite", embedded, ""},
		{"one that is not there was not moved", "before:sqlite:/elsewhere/more.db", "none", "sqlite:/elsewhere/more.db", "give it the same --archive"},
	} {
		var log bytes.Buffer
		if where, is := strings.CutPrefix(c.url, "before:"); is {
			c.url = ""
			engine := work.New(b, work.Config{})
			was, err := engine.Archive(t.Context())
			if err == nil {
				err = engine.SetArchive(t.Context(), was, where)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		o := options{dataDir: dir, archiveURL: c.url, log: slog.New(slog.NewTextHandler(&log, nil))}
		a, kind, _, err := openArchive(t.Context(), b, o)
		if err != nil || kind != c.kind || (a == nil) != (c.kind == "none") {
			t.Fatalf("%s: got %v of kind %q, %v, want %q", c.name, a, kind, err, c.kind)
		}
		if a != nil {
			a.Close()
		}
		if where, err := work.New(b, work.Config{}).Archive(t.Context()); err != nil || where != c.where {
			t.Errorf("%s: the board knows %q, %v, want %q", c.name, where, err, c.where)
		}
		if c.warns == "" && log.Len() > 0 || !strings.Contains(log.String(), c.warns) {
			t.Errorf("%s: got the log %q, want %q", c.name, log.String(), c.warns)
		}
	}
}

// TestNodesThatBeginAtOnceTakeOneArchive: another node says where the board is archived after this one has read that it
// is nowhere.
func TestNodesThatBeginAtOnceTakeOneArchive(t *testing.T) {
	for other, refused := range map[string]bool{"sqlite:/elsewhere/archive.db": true, "sqlite:" + archiveFile: false} {
		b := memboard.Open()
		defer b.Close()
		said := false
		between := faultboard.New(b, faultboard.Config{Before: func(ctx context.Context, c faultboard.Call) error {
			if c.Batch == nil || said {
				return nil
			}
			for _, g := range c.Batch.Guards {
				said = said || g.Key == layout.Archive
			}
			for _, op := range c.Batch.Ops {
				said = said || op.Key == layout.Archive
			}
			if !said {
				return nil
			}
			return work.New(b, work.Config{}).SetArchive(ctx, "", other)
		}})
		a, _, _, err := openArchive(t.Context(), between, options{dataDir: t.TempDir(), log: slog.New(slog.DiscardHandler), serve: true})
		if a != nil {
			a.Close()
		}
		if !said || errors.Is(err, domain.ErrConflict) != refused || !refused && err != nil {
			t.Errorf("beside one that archives to %s: got %v, want it refused: %v", other, err, refused)
		}
		if is, err := work.New(b, work.Config{}).Archive(t.Context()); err != nil || is != other {
			t.Errorf("the board is archived to %q, %v, want %q", is, err, other)
		}
	}
}
