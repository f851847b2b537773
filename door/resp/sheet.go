package resp

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Board is what the door needs of a board.
type Board interface {
	Commit(ctx context.Context, batch board.Batch) error
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error)
	List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error)
	Len(ctx context.Context, space board.Space, lists ...string) ([]int, error)
	Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error)
	Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error)
	Stat(ctx context.Context, space board.Space, keys ...string) ([]board.Stat, error)
	Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error)
	Durability() board.Durability
}

// errFlush says that a command cannot be done on top of what those before it
// have changed on the sheet: these must be committed first.
var errFlush = errors.New("commit first")

// sheet is a space as the commands of one commit see it: what lies on the
// board, read as far as it is asked for, and on top of it what they have
// changed. Changes gather in one batch; what an answer hangs on is guarded in
// it, so that the commit fails where another was quicker, and all is done again
// on a fresh sheet.
//
// Commands look first and change last: one that fails has changed nothing.
type sheet struct {
	ctx   context.Context
	board Board
	now   time.Time
	// strict guards all that is read: between MULTI and EXEC.
	strict bool

	leaves map[string]*leaf
	// free are leaves of sheets before, to be used again.
	used, free []*leaf
	batch      board.Batch
	likely     int // how many operations it will have
	bytes      int
	read       int // bytes that were read
	// pushed are lists that have got items: somebody may wait for them.
	pushed []string
	// names is room for the names of fields that are to be read, one for a key.
	names []string
	one   [1]string
	// messages are told when the sheet is committed.
	messages []channelMessage
}

func newSheet(ctx context.Context, b Board, space board.Space) *sheet {
	return &sheet{ctx: ctx, board: b, now: time.Now(), leaves: map[string]*leaf{}, batch: board.Batch{Space: space}}
}

// reset makes the sheet a fresh one.
func (s *sheet) reset(ctx context.Context) {
	clear(s.leaves)
	for _, l := range s.used {
		*l = leaf{record: l.record.forget()}
	}
	if s.free = append(s.free, s.used...); len(s.free) > sheetOps {
		s.free = nil
	}
	s.used = s.used[:0]
	// The old slices are the board's now; the next will be about as large.
	if n := len(s.batch.Ops); n > 0 {
		s.likely = min(n, sheetOps)
	}
	s.batch = board.Batch{Space: s.batch.Space}
	s.ctx, s.now, s.strict, s.bytes, s.read, s.pushed, s.messages = ctx, time.Now(), false, 0, 0, s.pushed[:0], nil
}

// room makes the first operation find as much room as all will need.
func (s *sheet) room() {
	if s.batch.Ops == nil {
		s.batch.Ops = make([]board.Op, 0, max(s.likely, 1))
	}
}

// What a sheet takes before it is committed. A command that goes over it is
// done all the same, as far as the board does it.
const (
	sheetOps   = 700
	sheetBytes = 2 << 20
)

// full reports whether the sheet should be committed before more is done on it.
func (s *sheet) full() bool {
	return len(s.batch.Ops)+len(s.batch.Guards) >= sheetOps || s.bytes >= sheetBytes || s.read >= sheetReads
}

// took counts what was read: a sheet keeps it all.
//
// Errors: [errTooLarge].
func (s *sheet) took(bytes int) error {
	if s.read += bytes; s.read > sheetReads+maxAnswer {
		return errTooLarge
	}
	return nil
}

func (s *sheet) space() board.Space { return s.batch.Space }

// leaf is one key on a sheet.
type leaf struct {
	key string
	// kind is what lies there, as far as it is known; "" is nothing or unknown.
	kind board.Kind
	// gone says that the key was deleted on the sheet: nothing that lies on the
	// board counts any more.
	gone bool
	// opaque says that its content is not known on the sheet any more.
	opaque bool

	record recordLeaf
	list   *listLeaf
	set    *setLeaf

	stat     board.Stat
	statRead bool
	// expires is when it will be gone, as changed on the sheet; zero is never.
	expires time.Time
	renewed bool
}

func (s *sheet) leaf(key string) *leaf {
	l := s.leaves[key]
	if l != nil {
		return l
	}
	if n := len(s.free); n > 0 {
		l, s.free = s.free[n-1], s.free[:n-1]
	} else {
		l = &leaf{}
	}
	l.key = key
	s.leaves[key] = l
	s.used = append(s.used, l)
	return l
}

// as is the leaf of a key that must hold kind, or nothing.
//
// Errors: [errWrongType]; [errFlush].
func (s *sheet) as(key string, kind board.Kind) (*leaf, error) {
	l := s.leaf(key)
	switch {
	case l.opaque:
		return nil, errFlush
	case l.kind == kind || l.kind == "":
		return l, nil
	}
	there, err := s.there(l)
	switch {
	case err != nil:
		return nil, err
	case there:
		return nil, errWrongType
	}
	return nil, errFlush // emptied on this sheet, and now to be something else
}

// wrongKind turns what a read of the board says of another kind of thing into
// Redis' words. Keys were held to their limits before.
func wrongKind(err error) error {
	if errors.Is(err, domain.ErrInvalid) {
		return errWrongType
	}
	return err
}

// there reports whether the key holds anything.
func (s *sheet) there(l *leaf) (bool, error) {
	switch {
	case l.opaque:
		return false, errFlush
	case l.kind == board.KindRecord:
		return s.recordThere(l)
	case l.kind == board.KindList:
		n, err := s.length(l)
		return n > 0, err
	case l.kind == board.KindSet:
		return s.setThere(l)
	case l.gone:
		return false, nil
	}
	st, err := s.statOf(l)
	return st.Kind != "", err
}

// statOf is what lies under the key on the board.
func (s *sheet) statOf(l *leaf) (board.Stat, error) {
	if l.statRead {
		return l.stat, nil
	}
	stats, err := s.board.Stat(s.ctx, s.space(), l.key)
	if err != nil {
		return board.Stat{}, err
	}
	l.stat, l.statRead = stats[0], true
	if l.kind == "" && !l.gone {
		l.kind = l.stat.Kind
	}
	return l.stat, nil
}

// pinAbsent guards that there is nothing but what the sheet itself has emptied.
func (s *sheet) pinAbsent(l *leaf) {
	switch {
	case l.gone:
	case l.kind == "":
		s.batch.Absent(l.key)
	case l.kind == board.KindList:
		s.pinLength(l) // of which all was taken, item by item
	}
}

// remove deletes a key, whatever it holds.
func (s *sheet) remove(l *leaf) {
	*l = leaf{key: l.key, gone: true}
	s.batch.Delete(l.key)
}

// expiry is when the key will be gone; zero is never. It must be there.
func (s *sheet) expiry(l *leaf) (time.Time, error) {
	if l.renewed || l.gone {
		return l.expires, nil
	}
	st, err := s.statOf(l)
	return st.Expires, err
}

// expireAt lets the key be gone at an instant; at once, where that has passed.
// The zero instant takes that back.
func (s *sheet) expireAt(l *leaf, at time.Time) {
	if at.IsZero() {
		l.expires, l.renewed = at, true
		s.batch.Expire(l.key, 0)
		return
	}
	left := min(at.Sub(s.now), maxPatience)
	if left <= 0 {
		s.remove(l)
		return
	}
	l.expires, l.renewed = at, true
	s.batch.Expire(l.key, left)
}
