package backup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file fills a board, an archive and streams: from a backup, or from another board.

// Target is what a backup is restored into.
type Target struct {
	// Board to fill, below encryption. Required.
	Board board.Board
	// Archive opens the archive to fill; again says that what it has is of an earlier
	// restore, or to be lost. Nil: the board gets none, and a backup that has one is
	// refused unless NoArchive says so.
	Archive func(ctx context.Context, again bool) (archive.Archive, error)
	// Where names the archive for the board; "" leaves what the board says of it.
	Where string
	// NoArchive says that the board is archived nowhere from now on.
	NoArchive bool
	// Streams opens the event streams to fill, after the files are there. Nil: those of
	// the backup are passed over.
	Streams func(ctx context.Context, again bool) (stream.Log, error)
	// Artifacts is where files that jobs left go. Nil: there is no place, and a backup that
	// has some is refused unless NoArtifacts says so.
	Artifacts   artifact.Store
	NoArtifacts bool
	// Folder is where files of the node go. "": they are passed over.
	Folder string
	// Alone says that nobody else can have the board open.
	Alone bool
	// Overwrite fills a board, and writes files, where something is.
	Overwrite bool
	// From names the backup for people. Progress is told how many items are done; nil:
	// nobody asks.
	From     string
	Progress func(items int64)
}

// givenHere is more than a board gives out of the numbers of actors, nodes and runners,
// of which there are few, between a backup and the loss that made somebody restore it.
const givenHere = 1_000

// Restore fills a board, its archive and streams from a backup. A new epoch begins:
// what came after the backup is lost, and no number that was given out then is given
// out again.
//
// Errors: [domain.ErrConflict] for a board that is not empty or in use;
// [domain.ErrInvalid] for a backup that cannot be read. What was filled until then is
// no board that a node starts on.
func Restore(ctx context.Context, from io.Reader, t Target) (s Summary, err error) {
	r := &restoring{Target: t, made: map[domain.StreamName]string{}}
	defer func() { err = errors.Join(err, r.close()) }()
	if s, err = read(ctx, from, t.Progress, r.taker(ctx)); err != nil {
		return s, err
	}
	if err := r.load.compare(ctx); err != nil {
		return s, err
	}
	if err := t.pair(ctx, r.rows); err != nil {
		return s, err
	}
	if err := r.load.settle(ctx, beyond); err != nil {
		return s, err
	}
	return s, r.load.end(ctx, func(b *board.Batch) {
		b.NextEpoch(time.Now(), "restored from a backup of "+s.Head.at()+": what came after it is lost")
		for name, at := range r.made {
			b.Set(layout.Streams, board.Field{Name: string(name), Value: at})
		}
		switch {
		case t.NoArchive:
			b.Delete(layout.Archive)
		case r.rows != nil && t.Where != "":
			b.Set(layout.Archive, board.Field{Name: layout.ArchiveWhere, Value: t.Where})
		}
	})
}

// restoring is a target that is filled.
type restoring struct {
	Target
	load    *load
	rows    archive.Archive // nil: the board gets none
	streams stream.Log      // nil until the backup has one
	made    map[domain.StreamName]string
}

func (r *restoring) close() (err error) {
	if r.rows != nil {
		err = r.rows.Close()
	}
	if r.streams != nil {
		err = errors.Join(err, r.streams.Close())
	}
	return err
}

// taker fills what of the target there is.
func (r *restoring) taker(ctx context.Context) taker {
	take := taker{
		head:  func(h Head) error { return r.begin(ctx, h) },
		items: func(list []item) error { return r.load.add(ctx, list) },
	}
	if r.Folder != "" {
		take.file = func(f file) error { return r.write(f, r.load.again) }
	}
	if r.Archive != nil {
		take.record = func(list []archive.Record) error { return putAll(ctx, r.rows, list) }
		take.names = func(list []archive.Claimed) error { return claimAll(ctx, r.rows, list) }
	}
	if r.Streams != nil {
		take.stream = func(name domain.StreamName, from io.Reader) error { return r.paste(ctx, name, from) }
	}
	if r.Artifacts != nil {
		take.blob = func(b blob, from io.Reader) error { return r.keep(ctx, b, from) }
	}
	return take
}

func (r *restoring) begin(ctx context.Context, h Head) (err error) {
	if h.Archive && r.Archive == nil && !r.NoArchive {
		return domain.Invalidf("the backup has an archive: say where that goes with --archive, or leave it with --archive none")
	}
	if h.Artifacts && r.Artifacts == nil && !r.NoArtifacts {
		return domain.Invalidf("the backup has files that jobs left, and beside a board that nodes share there is no place for them unless you say which: " +
			"name it as artifacts in the config file that you give with --config, or leave them with artifacts: none there")
	}
	r.load, err = begin(ctx, r.Board, cmp.Or(r.From, "a backup")+" of "+h.at(), r.Alone, r.Overwrite)
	if err != nil || !h.Archive || r.Archive == nil {
		return err
	}
	r.rows, err = r.openArchive(ctx, r.load.again)
	return err
}

// paste fills a stream, and notes when that was made: by this a node knows whether its positions in it hold.
func (r *restoring) paste(ctx context.Context, name domain.StreamName, from io.Reader) (err error) {
	if r.streams == nil {
		if r.streams, err = r.Streams(ctx, r.load.again); err != nil {
			return err
		}
	}
	to, ok := r.streams.(stream.Copier)
	if !ok {
		return domain.Invalidf("these event streams cannot be restored")
	}
	if err := to.Paste(ctx, name, from); err != nil {
		return err
	}
	stats, err := r.streams.Stats(ctx, name)
	r.made[name] = stats.Created.UTC().Format(time.RFC3339Nano)
	return err
}

// openArchive opens the archive to fill, which must be empty.
func (t Target) openArchive(ctx context.Context, again bool) (archive.Archive, error) {
	to, err := t.Archive(ctx, again)
	if err != nil || again {
		return to, err
	}
	has, err := to.Highest(ctx)
	if err == nil && len(has) > 0 {
		err = domain.Conflictf("the archive is not empty: it has %ss of context %d, up to %d; name an empty one with --archive, or lose what is there with "+
			"--overwrite", has[0].Kind, has[0].Context, has[0].ID)
	}
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// beyond is how many numbers of a counter may have been given out since the backup.
func beyond(space board.Space, key string) int64 {
	if space != 0 {
		return board.EpochLeap
	}
	switch key {
	case layout.Seq("context", 0): // may be databases, of which there are few
		return 0
	case layout.Seq("actor", 0), layout.Seq("node", 0), layout.Seq("runner", 0):
		return givenHere
	}
	return board.EpochLeap
}

// putAll puts records, as many at a time as an archive takes.
func putAll(ctx context.Context, to archive.Archive, list []archive.Record) error {
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && n < archive.MaxBatch && (n == 0 || size < archive.MaxPageBytes) {
			size += list[n].Size()
			n++
		}
		if err := to.Put(ctx, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// claimAll takes the names that were given out, each for whom it was.
func claimAll(ctx context.Context, to archive.Archive, list []archive.Claimed) error {
	for _, c := range list {
		if _, err := to.Claim(ctx, c.Name, c.Key, time.UnixMilli(c.ClaimedMs)); err != nil {
			return err
		}
	}
	return nil
}

// pair says in the archive whose it is, and how far it has come.
func (t Target) pair(ctx context.Context, to archive.Archive) error {
	if to == nil {
		return nil
	}
	recs, err := t.Board.Get(ctx, 0, layout.Identity)
	if err != nil {
		return err
	}
	marks, err := to.Marks(ctx)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"board": recs[0].Get(layout.IdentityID), "step": recs[0].Get(layout.IdentityStep)} {
		if _, err := to.Mark(ctx, name, marks[name], value); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the node, and none over another one.
func (t Target) write(f file, again bool) error {
	if !filepath.IsLocal(filepath.FromSlash(f.Name)) || strings.HasPrefix(f.Name, "board") {
		return domain.Invalidf("the backup has a file %q, which is none of a node's", f.Name)
	}
	path := filepath.Join(t.Folder, filepath.FromSlash(f.Name))
	if was, err := os.ReadFile(path); err == nil && !bytes.Equal(was, f.Data) && !t.Overwrite && !again {
		return domain.Conflictf("%s is there and not as in the backup: restore into a new folder, or lose it with --overwrite", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return domain.FileErrorf(err, "restore %q: %v", path, err)
	}
	return replaceFile(path, f.Data)
}

// replaceFile writes a file that is there wholly or as it was before.
func replaceFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		return domain.FileErrorf(err, "restore %q: %v", path, err)
	}
	return nil
}
