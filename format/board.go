package format

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Board is what a step needs of a board.
type Board interface {
	Commit(ctx context.Context, batch board.Batch) error
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error)
	List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error)
	Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error)
	Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error)
	Now() time.Time
}

// CheckBoard refuses a board of a newer program. It writes nothing.
//
// Errors: [domain.ErrConflict], [domain.ErrInvalid] for a record that is damaged,
// [domain.ErrUnavailable].
func (f Formats) CheckBoard(ctx context.Context, b Board) error {
	_, _, err := f.boardStamp(ctx, b)
	return err
}

// boardStamp reads what a board says, and checks it; known is whether it says anything.
func (f Formats) boardStamp(ctx context.Context, b Board) (s stamp, known bool, err error) {
	recs, err := b.Get(ctx, 0, layout.Format)
	if err != nil {
		return s, false, err
	}
	s.Format = 1
	if rec := recs[0]; rec != nil {
		known = true
		if s.Format, err = strconv.Atoi(rec.Get(layout.FormatVersion)); err != nil {
			return s, true, domain.Invalidf("the board's record %s is damaged: field %s: want a number, %d for boards of this program",
				layout.Format, layout.FormatVersion, f.Newest())
		}
		s.Needs, s.MadeBy = rec.Get(layout.FormatNeeds), rec.Get(layout.FormatMadeBy)
	}
	return s, known, f.check("the board", s)
}

// Keeper brings a board up to date as soon as no older node lives, and sees that its own
// node does not go on when others have.
type Keeper struct {
	Formats Formats
	Board   Board
	// Node is the name of the node that this is; "": it is not known yet.
	Node string
	// Alone says that no other process can be on the board.
	Alone   bool
	Program string
	// Newest is called by Run when the board is in the newest format: what belongs to it may
	// be brought there, too. Default: nothing is done.
	Newest func(ctx context.Context) error
	Logger *slog.Logger
}

// keepEvery is how often a keeper looks: as often as nodes say that they live.
const keepEvery = domain.NodeSilence / 3

// Start does at the start of a node what Run does later: a board that nobody else is on is
// up to date when it returns. newest is whether it is now.
//
// Errors: as of CheckBoard.
func (k Keeper) Start(ctx context.Context) (newest bool, err error) { return k.round(ctx) }

// Run looks until ctx ends.
//
// Errors: [domain.ErrConflict] when the board was brought to a format that this program
// does not know: the node must stop.
func (k Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for told := k.Newest == nil; ; {
		// Once at the beginning too: when this node said that it is here, another may have
		// been about to go on without it.
		newest, err := k.round(ctx)
		if err == nil && newest && !told {
			err = k.Newest(ctx)
			told = err == nil
		}
		if errors.Is(err, domain.ErrConflict) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			k.Logger.Warn("the board's format could not be looked at; it is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (k Keeper) round(ctx context.Context) (newest bool, err error) {
	f := k.Formats
	is, known, err := f.boardStamp(ctx, k.Board)
	if err != nil || known && is.Format == f.Newest() {
		return err == nil, err
	}
	if is.Format < f.Newest() {
		older, err := k.older(ctx)
		if err != nil {
			return false, err
		}
		if older != "" {
			k.Logger.Info("the board stays as older nodes know it until they are gone", "format", is.Format, "newest", f.Newest(), "older", older)
			return false, nil
		}
		err = f.upgrade("the board", is.Format, func(s Step) error {
			if s.Board == nil {
				return nil
			}
			return s.Board(ctx, k.Board)
		})
		if err != nil {
			return false, err
		}
	}
	if err := k.write(ctx, is, known); err != nil {
		return false, err
	}
	if is.Format < f.Newest() {
		k.Logger.Info("the board was brought up to date", "from", is.Format, "format", f.Newest())
	}
	return true, nil
}

// write gives the board its new stamp, if it still has the old one: two nodes may bring it
// up to date at once, which the steps allow.
func (k Keeper) write(ctx context.Context, was stamp, known bool) error {
	s := k.Formats.stamp(k.Program, time.Now().UnixMilli())
	var b board.Batch
	if known {
		b.Equal(layout.Format, layout.FormatVersion, strconv.Itoa(was.Format))
	} else {
		b.Absent(layout.Format)
	}
	b.Set(layout.Format, board.Field{Name: layout.FormatVersion, Value: strconv.Itoa(s.Format)}, board.Field{Name: layout.FormatNeeds, Value: s.Needs},
		board.Field{Name: layout.FormatMadeBy, Value: s.MadeBy}, board.Field{Name: layout.FormatMadeMs, Value: strconv.FormatInt(s.MadeMs, 10)})
	err := k.Board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return k.Formats.CheckBoard(ctx, k.Board) // another was first; was it a newer one?
	}
	return err
}

// older names a living node that knows only older formats; "": there is none. A node that
// was there before formats were says none: it is of the first.
func (k Keeper) older(ctx context.Context) (string, error) {
	if k.Alone {
		return "", nil
	}
	now := k.Board.Now()
	for cursor := ""; ; {
		keys, next, err := k.Board.Keys(ctx, 0, layout.NodePrefix, cursor, 100)
		if err != nil {
			return "", err
		}
		recs, err := board.Readable(k.Board.Get(ctx, 0, keys...))
		if err != nil {
			return "", err
		}
		for i, rec := range recs {
			if rec == nil {
				continue
			}
			n, err := layout.DecodeNode(keys[i], rec)
			if err != nil {
				return "", err // it may live
			}
			if n.Name != k.Node && n.Seen(now).Alive && max(n.Format, 1) < k.Formats.Newest() {
				return n.Name, nil
			}
		}
		if cursor = next; cursor == "" {
			return "", nil
		}
	}
}
