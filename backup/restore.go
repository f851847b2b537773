package backup

import (
	"cmp"
	"context"
	"errors"
	"io"
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
	// Archive opens the archive to fill; anew says that what it has may be removed, which
	// whoever can do that sooner than record by record does. Nil: the board gets none, and a
	// backup that has one is refused unless NoArchive says so.
	Archive func(ctx context.Context, anew bool) (archive.Archive, error)
	// Where names the archive for the board; "" leaves what the board says of it.
	Where string
	// NoArchive says that the board is archived nowhere from now on.
	NoArchive bool
	// Streams opens the event streams to fill, which lie in StreamsFolder, after the files
	// are there. Nil: those of the backup are passed over.
	Streams       func(ctx context.Context) (stream.Log, error)
	StreamsFolder string
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
// no board that a node starts on. A [Refusal] has changed nothing.
func Restore(ctx context.Context, from io.Reader, t Target) (s Summary, err error) {
	r := &restoring{Target: t, made: map[domain.StreamName]string{}}
	defer func() { err = errors.Join(err, r.close()) }()
	if s, err = read(ctx, from, t.Progress, r.taker(ctx)); err != nil {
		if !r.begins && (errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrInvalid)) {
			return s, refuse(ctx, t.Board, err)
		}
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
	if err := r.ends(); err != nil {
		return s, err
	}
	err = r.load.end(ctx, func(b *board.Batch) {
		b.NextEpoch(t.Board.Now(), "restored from a backup of "+s.Head.at()+": what came after it is lost")
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
	if err != nil {
		return s, err
	}
	return s, r.unmark(ctx)
}

// restoring is a target that is filled.
type restoring struct {
	Target
	head    Head
	held    []file // of the node
	load    *load
	begins  bool // something may have been changed
	note    note
	rows    archive.Archive // nil: the board gets none
	begun   bool            // what the archive has is of an earlier run
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

// taker fills what of the target there is. The files of the node come first in a backup, and
// are held until nothing is known to be in the way of all the rest.
func (r *restoring) taker(ctx context.Context) taker {
	take := taker{
		head:  r.check,
		begin: func() error { return r.start(ctx) },
		items: func(list []item) error { return r.load.add(ctx, list) },
	}
	if r.Folder != "" {
		take.file = func(f file) error { r.held = append(r.held, f); return nil }
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

// check refuses a backup that has what there is no place for.
func (r *restoring) check(h Head) error {
	if h.Archive && r.Archive == nil && !r.NoArchive {
		return domain.Invalidf("the backup has an archive: say where that goes with --archive, or leave it with --archive none")
	}
	if h.Artifacts && r.Artifacts == nil && !r.NoArtifacts {
		return domain.Invalidf("the backup has files that jobs left, and beside a board that nodes share there is no place for them unless you say which: " +
			"name it as artifacts in the config file that you give with --config, or leave them with artifacts: none there")
	}
	r.head = h
	return nil
}

// start looks whether anything that is somebody's is in the way, changes nothing where there
// is, and else makes room.
func (r *restoring) start(ctx context.Context) (err error) {
	if r.load, err = look(ctx, r.Board, cmp.Or(r.From, "a backup")+" of "+r.head.at(), r.Alone, r.Overwrite); err != nil {
		return r.restoredAlready(err)
	}
	if err := r.unowned(ctx); err != nil {
		return err
	}
	r.begins = true
	if err := r.load.mark(ctx); err != nil {
		return err
	}
	if err := r.writeFiles(); err != nil {
		return err
	}
	if r.load.again {
		r.load.goesOn = false // nothing is left to go on with
		if err := r.load.empty(ctx); err != nil {
			return err
		}
	}
	return r.makeArchive(ctx)
}

// Refusal says why a restore changed nothing: of the backup, or of what somebody has where it was to go.
type Refusal struct {
	why error
	// Empty says that the board has nothing at all: a folder that was made for it can go.
	Empty bool
}

func (r *Refusal) Error() string { return r.why.Error() }
func (r *Refusal) Unwrap() error { return r.why }

func refuse(ctx context.Context, b board.Board, why error) error {
	has, err := something(ctx, b)
	return &Refusal{why, err == nil && has == ""}
}

// paste fills a stream, and notes when that was made: by this a node knows whether its positions in it hold.
func (r *restoring) paste(ctx context.Context, name domain.StreamName, from io.Reader) (err error) {
	if r.streams == nil {
		if err := r.makeStreams(); err != nil {
			return err
		}
		if r.streams, err = r.Streams(ctx); err != nil {
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

// The marks that tell an archive and its board that they belong together, as package clockwork has them.
const (
	markBoard = "board"
	markStep  = "step"
)

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
	for name, value := range map[string]string{markBoard: recs[0].Get(layout.IdentityID), markStep: recs[0].Get(layout.IdentityStep)} {
		if _, err := to.Mark(ctx, name, marks[name], value); err != nil {
			return err
		}
	}
	return nil
}
