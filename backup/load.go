package backup

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file fills a board.

const (
	loadBytes = 4 << 20 // bytes of what is committed together
	loadBatch = 1 << 20 // bytes of a batch
	loadEach  = 32      // batches that are committed together
)

// load fills a board with items.
type load struct {
	board   board.Board
	limit   int // bytes of a batch
	from    string
	id      string // of the half board, whatever it is filled from: what is beside it bears this, too
	again   bool   // something may lie under the keys
	goesOn  bool   // with what an interrupted copy has left
	over    bool   // whatever lies there may go
	entered map[board.Space]bool
	notes   map[board.Space]*notes
	now     int64
	batches []board.Batch
	size    int // of the last batch
	bytes   int // of all
	loaded  *digest
	passing *digest // keys that expire
	ends    int64   // when the first of them does, Unix ms by this machine's clock, as boards tell it
	limits  []item
	leases  []item
	numbers []item // counters
	// unborn are counters of callers that may have been begun since.
	unborn  []item
	expired int64
}

func newLoad(b board.Board) *load {
	l := &load{board: b, limit: loadBatch, now: time.Now().UnixMilli(), entered: map[board.Space]bool{0: true}, notes: map[board.Space]*notes{},
		loaded: newDigest(), passing: newDigest(), ends: math.MaxInt64}
	if most := b.Limits().Commit; most > 0 {
		l.limit = min(l.limit, most/2)
	}
	return l
}

// look finds out whether a board can be filled from something, and writes nothing. One that is
// empty can, and one that an interrupted load has left.
//
// Errors: [domain.ErrConflict] for a board that is not empty, or that nodes use.
func look(ctx context.Context, b board.Board, from string, alone, overwrite bool) (*load, error) {
	l := newLoad(b)
	l.over, l.from = overwrite, domain.PlainText(from, 400)
	recs, err := b.Get(ctx, 0, layout.Restoring)
	if err != nil {
		return nil, err
	}
	there, err := nodesOf(ctx, Side{Board: b, Alone: alone})
	if err == nil {
		err = there.unused(b.Now())
	}
	if err != nil {
		return nil, err
	}
	if recs[0] == nil {
		what, err := something(ctx, b)
		if err != nil {
			return nil, err
		}
		if what != "" && !overwrite {
			return nil, &notEmpty{what}
		}
		l.again = what != "" || overwrite
	} else {
		l.again = true
		l.goesOn = recs[0].Get(layout.RestoringFrom) == l.from
		l.id = recs[0].Get(layout.RestoringID)
	}
	l.id = cmp.Or(l.id, rand.Text()) // of a board that no load has left, or an earlier program
	spaces, err := b.Spaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range spaces {
		l.entered[s] = true
	}
	return l, l.readNotes(ctx, spaces)
}

// mark says on the board that it is being filled, and leaves what lies there.
func (l *load) mark(ctx context.Context) error {
	return l.board.Commit(ctx, *new(board.Batch).Set(layout.Restoring, board.Field{Name: layout.RestoringFrom, Value: l.from},
		board.Field{Name: layout.RestoringSinceMs, Value: strconv.FormatInt(l.board.Now().UnixMilli(), 10)}, board.Field{Name: layout.RestoringID, Value: l.id}))
}

// notEmpty is a [domain.ErrConflict]: the board has something.
type notEmpty struct{ what string }

func (e *notEmpty) Error() string {
	return "the board is not empty: it has " + e.what + "; name an empty one, or lose what it has with --overwrite"
}
func (e *notEmpty) Unwrap() error { return domain.ErrConflict }

// something names a thing that a board has; "" where it has none.
func something(ctx context.Context, b board.Board) (string, error) {
	spaces, err := b.Spaces(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range spaces {
		keys, _, err := b.Keys(ctx, s, "", "", 1)
		if err != nil {
			return "", err
		}
		if len(keys) > 0 {
			return fmt.Sprintf("%s in space %d", keys[0], s), nil
		}
	}
	alarms, err := b.Alarms(ctx, board.Alarm{}, 1)
	if err == nil && len(alarms) > 0 {
		return fmt.Sprintf("the alarm %s in space %d", alarms[0].Name, alarms[0].Space), nil
	}
	return "", err
}

// empty removes everything but the mark from a board, as far as it may. Counters stay: no number is
// given out twice.
//
// Errors: [domain.ErrConflict] for a key that is not the load's.
func (l *load) empty(ctx context.Context) error {
	spaces, err := l.board.Spaces(ctx)
	if err != nil {
		return err
	}
	for _, s := range spaces {
		if err := l.emptySpace(ctx, s); err != nil {
			return err
		}
	}
	return emptyAlarms(ctx, l.board)
}

func emptyAlarms(ctx context.Context, b board.Board) error {
	for {
		page, err := b.Alarms(ctx, board.Alarm{}, marksPage)
		if err != nil || len(page) == 0 {
			return err
		}
		batches := make([]board.Batch, len(page))
		for i, a := range page {
			batches[i] = *(&board.Batch{Space: a.Space}).ClearAlarm(a.Name)
		}
		if err := errors.Join(b.CommitEach(ctx, batches)...); err != nil {
			return err
		}
	}
}

func (l *load) emptySpace(ctx context.Context, s board.Space) error {
	for cursor := ""; ; {
		keys, next, err := l.board.Keys(ctx, s, "", cursor, keysPage)
		if err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, layout.IsRestoring) // what is noted goes after what it is noted of
		for part := range slices.Chunk(keys, board.MaxOps) {
			batch := board.Batch{Space: s}
			for _, key := range part {
				if err := l.mine(s, key); err != nil {
					return err
				}
				batch.Delete(key)
			}
			if err := l.board.Commit(ctx, batch); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return errors.Join(l.forget(ctx, s), emptyLive(ctx, l.board, s))
		}
	}
}

func emptyLive(ctx context.Context, b board.Board, s board.Space) error {
	for {
		live, err := b.Live(ctx, s, board.LiveItem{}, marksPage)
		if err != nil || len(live) == 0 {
			return err
		}
		batch := board.Batch{Space: s}
		for _, l := range live {
			batch.Settle(l.Item)
		}
		if err := b.Commit(ctx, batch); err != nil {
			return err
		}
	}
}

// add takes items, and commits them when there are many.
func (l *load) add(ctx context.Context, items []item) error {
	for _, it := range items {
		if err := l.enter(ctx, it.space); err != nil {
			return err
		}
	}
	if err := l.displace(ctx, items); err != nil {
		return err
	}
	var due []item
	for _, it := range items {
		switch {
		case it.kind == kindLease:
			l.leases = append(l.leases, it)
			continue
		case it.kind == kindCounter:
			l.numbers = append(l.numbers, it)
			continue
		case it.expires != 0 && it.expires <= l.now:
			l.expired++
			continue
		case it.kind == kindRecord && it.key == board.LimitsKey:
			l.limits = append(l.limits, it) // caps hold nothing up before leases are as they were
			continue
		case it.expires != 0:
			l.passing.add(it)
			l.ends = min(l.ends, it.expires)
		default:
			l.loaded.add(it)
		}
		if it.kind == kindRecord && it.key == layout.Tenant(domain.TenantID(it.space)) {
			l.unborn = append(l.unborn, callers(it)...)
		}
		due = append(due, it)
	}
	due, err := l.missing(ctx, due)
	if err != nil {
		return err
	}
	for _, it := range due {
		if err := l.put(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// enter looks whether a space is empty before the first is written there. The board knows only
// of spaces that it has written to: in another database of the server another program may live,
// whose keys nobody would find later among those of the load. They go where whatever lies there may.
//
// Errors: [domain.ErrConflict].
func (l *load) enter(ctx context.Context, s board.Space) error {
	if l.entered[s] {
		return nil
	}
	l.entered[s] = true
	keys, _, err := l.board.Keys(ctx, s, "", "", 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	if l.over {
		return l.emptySpace(ctx, s)
	}
	return &foreign{keys[0], s}
}

// callers are the counters of those who may create in a context, whether anything was
// given out of them or not.
func callers(it item) (list []item) {
	t, err := layout.DecodeTenant(it.key, it.fields)
	if err != nil {
		return nil // nobody may, as long as the record is as it is
	}
	keys := []string{layout.Seq("flow", 0)}
	for _, actor := range slices.Concat(t.Admins, t.Executors) {
		keys = append(keys, layout.Seq("job", actor), layout.Seq("message", actor))
	}
	for _, key := range keys {
		list = append(list, item{kind: kindCounter, space: it.space, key: key})
	}
	return list
}

// put adds an item to what is committed next.
func (l *load) put(ctx context.Context, it item) error {
	one := board.Batch{Space: it.space}
	switch it.kind {
	case kindRecord:
		one.Set(it.key, it.fields...)
	case kindList:
		one.PushRight(it.key, it.items...)
	case kindSet:
		one.Include(it.key, it.items...)
	case kindAlarm:
		one.SetAlarm(it.key, time.UnixMilli(it.n))
	case kindLive:
		one.Live(it.key, time.UnixMilli(it.n))
	}
	if it.expires != 0 && it.from == 0 {
		one.Expire(it.key, time.Duration(it.expires-l.now)*time.Millisecond)
	}
	l.note(&one, it)
	size := one.Bytes()
	last := len(l.batches) - 1
	if last < 0 || l.batches[last].Space != it.space || len(l.batches[last].Ops)+len(one.Ops) > board.MaxOps || l.size+size > l.limit {
		if l.bytes+size > loadBytes || len(l.batches) == loadEach {
			if err := l.flush(ctx); err != nil {
				return err
			}
		}
		l.batches, l.size = append(l.batches, board.Batch{Space: it.space}), 0
		last = len(l.batches) - 1
	}
	l.batches[last].Ops = append(l.batches[last].Ops, one.Ops...)
	l.size += size
	l.bytes += size
	return nil
}

// flush commits what was added.
func (l *load) flush(ctx context.Context) error {
	if len(l.batches) == 0 {
		return ctx.Err()
	}
	err := errors.Join(l.board.CommitEach(ctx, l.batches)...)
	l.batches, l.size, l.bytes, l.now = l.batches[:0:0], 0, 0, time.Now().UnixMilli()
	if errors.Is(err, domain.ErrInvalid) {
		return domain.Invalidf("the board to fill does not take what is to be there: %v. If another program has put that there, give the board a server of "+
			"its own; or remove what lies there, and run the same command again", err)
	}
	return err
}

// compare walks the board, and names what is not as it was loaded.
//
// Errors: [domain.ErrConflict].
func (l *load) compare(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	has := newPicture()
	_, err := walk(ctx, l.board, func(list []item) error {
		for _, it := range list {
			if it.kind != kindCounter {
				has.add(it)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	same := func(what string, got, want *digest) error {
		for s, w := range want.spaces {
			if g := got.spaces[s]; g == nil || *g != *w {
				return domain.Conflictf("space %d of the board is not as what it was filled from: %s: it has %d items, want %d; is something else writing "+
					"there? Fill it again", s, what, g.count(), w.items)
			}
		}
		for s, g := range got.spaces {
			if want.spaces[s] == nil {
				return domain.Conflictf("space %d of the board has %d items too many; is something else writing there? Fill it again", s, g.items)
			}
		}
		return nil
	}
	if err := same("what stays", has.firm, l.loaded); err != nil {
		return err
	}
	if time.Now().UnixMilli() >= l.ends {
		return nil // some of it has expired meanwhile
	}
	return same("what expires", has.passing, l.passing)
}

func (s *spaceSum) count() int64 {
	if s == nil {
		return 0
	}
	return s.items
}

// settle makes the board one that nodes could start on: leases have run out, caps hold,
// counters go on beyond what they gave out by far more where beyond says so.
func (l *load) settle(ctx context.Context, beyond func(space board.Space, key string) int64) error {
	if err := l.lapse(ctx); err != nil {
		return fmt.Errorf("let leases run out: %w", err)
	}
	for _, it := range l.limits {
		if err := l.put(ctx, it); err != nil {
			return err
		}
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	for _, it := range append(l.numbers, l.unborn...) {
		if err := raise(ctx, l.board, it.space, it.key, it.n+beyond(it.space, it.key)); err != nil {
			return err
		}
	}
	return forgetNodes(ctx, l.board)
}

// end takes the mark away, so that nodes do start on the board. What last adds goes with it. What is noted goes
// afterwards: without it half a board would seem another program's, and with it a whole one lacks nothing.
func (l *load) end(ctx context.Context, last func(*board.Batch)) error {
	done := new(board.Batch).Delete(layout.Restoring)
	last(done)
	if err := l.board.Commit(ctx, *done); err != nil {
		return err
	}
	for s := range l.notes {
		if err := l.forget(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// raise has a counter go on beyond a number.
func raise(ctx context.Context, b board.Board, space board.Space, key string, last int64) error {
	if last <= 0 {
		return nil
	}
	next, err := b.Next(ctx, space, key, 0)
	if err == nil && next <= last {
		_, err = b.Next(ctx, space, key, int(last-next+1))
	}
	return err
}

// restorer owns the leases that run out.
const restorer = "ramet-restore"

// lapse claims what was claimed, with the token that it had, and lets it run out.
func (l *load) lapse(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(l.leases, func(a, b item) int {
		if a.space != b.space {
			return int(int64(a.space) - int64(b.space))
		}
		return strings.Compare(a.group, b.group)
	})
	for rest := l.leases; len(rest) > 0; {
		n := 1
		for n < len(rest) && n < loadLeases && rest[n].space == rest[0].space && rest[n].group == rest[0].group {
			n++
		}
		if err := l.claim(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(l.leases) == 0 {
		return nil
	}
	return l.board.Void(ctx, restorer)
}

// loadLeases is how many leases are made together.
const loadLeases = 256

// claim makes the leases of some items of one queue, which is named as its cap group.
func (l *load) claim(ctx context.Context, items []item) error {
	space, list := items[0].space, items[0].group
	if !queue.Is(list) {
		return nil // nothing could have been claimed from it
	}
	keys := make([]string, len(items))
	for i, it := range items {
		keys[i] = it.key
	}
	recs, err := board.Listed(ctx, l.board, space, []string{board.FieldAttempt}, keys)
	if err != nil {
		return err
	}
	batch, want := board.Batch{Space: space}, 0
	for i, r := range recs {
		attempt, _ := strconv.ParseInt(r.Get(board.FieldAttempt), 10, 64)
		if r == nil || attempt < 1 {
			continue // it has expired
		}
		batch.Set(keys[i], board.Field{Name: board.FieldAttempt, Value: strconv.FormatInt(attempt-1, 10)}) // the claim adds one
		batch.PushRight(list, queue.ItemFor(list, keys[i]))
		want++
	}
	if want == 0 {
		return nil
	}
	if err := l.board.Commit(ctx, batch); err != nil {
		return err
	}
	got, err := l.board.Claim(ctx, board.Ask{Queues: []board.Queue{{Lists: []string{list}}}, Spaces: []board.Space{space}, Max: want,
		Owner: restorer, Lease: board.MinLease, Firm: true})
	if err == nil && len(got) != want {
		err = domain.Conflictf("of %d items of %s in space %d, %d could be claimed; is something else at work on the board?", want, list, space, len(got))
	}
	return err
}

// forgetNodes has no node count as one that was just there.
func forgetNodes(ctx context.Context, b board.Board) error {
	for cursor := ""; ; {
		keys, next, err := b.Keys(ctx, 0, layout.NodePrefix, cursor, board.MaxOps)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(keys, board.MaxOps) {
			batch := board.Batch{}
			for _, key := range part {
				batch.Set(key, board.Field{Name: layout.NodeSeen, Value: "0"})
			}
			if err := b.Commit(ctx, batch); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// Unfinished refuses a board that is being filled.
//
// Errors: [domain.ErrConflict].
func Unfinished(ctx context.Context, b board.Board) error {
	recs, err := b.Get(ctx, 0, layout.Restoring)
	if err != nil || recs[0] == nil {
		return err
	}
	ms, _ := strconv.ParseInt(recs[0].Get(layout.RestoringSinceMs), 10, 64)
	return domain.Conflictf("the board is being filled from %s since %s and is not whole: wait for that to end, or, if it was interrupted, "+
		"run the same command again", recs[0].Get(layout.RestoringFrom), time.UnixMilli(ms).UTC().Format(time.RFC3339))
}
