package bulk

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/room"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

const (
	// Page is about how many things a part of an operation is about.
	Page = 100
	// atOnce is how many of them are dealt with at once: they wait for commits, which
	// the board gathers.
	atOnce = 16
	// keep is how long what has ended can be looked at.
	keep = 7 * 24 * time.Hour
	// writeTries is how often a change is tried while others change the same.
	writeTries = 8
	// waitPoll is how often Wait looks without being told.
	waitPoll = 15 * time.Second
)

// Doer knows what bulk operations are about.
type Doer interface {
	// Find is a page of what the operation's filter fits, by keys that Do understands;
	// next is the cursor of the page after it, "" at the end. What is made, or ends, after
	// the operation has begun is not among them: so nothing is found again that was
	// started again.
	//
	// Errors: [domain.ErrUnavailable] where it is to be asked again later; others end the
	// operation.
	Find(ctx context.Context, b *domain.Bulk, cursor string) (keys []string, next string, err error)
	// Do does it to one of them. It can be done twice.
	//
	// Errors: [domain.ErrConflict], [domain.ErrNotFound] where there is nothing to do;
	// [domain.ErrUnavailable], [domain.ErrExhausted] where it is to be done again later;
	// [domain.ErrForbidden] where the rest is as vain; others for this one.
	Do(ctx context.Context, b *domain.Bulk, key string) error
	// Ended is told how one came out that has not been cancelled.
	Ended(b *domain.Bulk)
}

// Engine keeps the bulk operations of all contexts. It has nothing in memory: what is
// known stands on the board. It is safe for concurrent use.
type Engine struct {
	board board.Board
	rooms *room.Room
	doer  atomic.Pointer[Doer]
}

// New returns the bulk operations of a board.
func New(b board.Board) *Engine { return &Engine{board: b, rooms: room.New(b, "bulk")} }

// Serve says who knows what they are about. Until then none goes on here.
func (e *Engine) Serve(d Doer) { e.doer.Store(&d) }

// Begin begins an operation, and returns it with its number: that which it has, drawn by the
// caller, or the next.
//
// Errors: [domain.ErrLimit]; [domain.ErrConflict] where there is one of its number.
func (e *Engine) Begin(ctx context.Context, b domain.Bulk) (*domain.Bulk, error) {
	space := layout.SpaceOf(b.ContextID)
	if b.ID == 0 {
		n, err := e.board.Next(ctx, space, layout.Seq("bulk", 0), 1)
		if err != nil {
			return nil, err
		}
		b.ID = domain.BulkID(n)
	}
	b.Status = domain.BulkRunning
	batch := board.Batch{Space: space}
	batch.Absent(layout.Bulk(b.ID)).Set(layout.Bulk(b.ID), layout.EncodeBulk(&b, "", 1)...).SetAlarm(layout.BulkAlarm(b.ID), e.board.Now())
	return &b, e.rooms.Make(ctx, batch, func(ctx context.Context) error { return e.room(ctx, b.ContextID) })
}

// room returns an error where the context has no room for another.
func (e *Engine) room(ctx context.Context, tenant domain.TenantID) error {
	running, all := 0, 0
	for cursor := ""; ; {
		list, at, err := e.List(ctx, tenant, cursor)
		if err != nil {
			return err
		}
		for _, b := range list {
			if all++; !b.Final() {
				running++
			}
		}
		switch {
		case running >= domain.MaxBulksRunning:
			return domain.Limitf("context %d has %d bulk operations under way, which is the limit; wait for one, or cancel it", tenant, running)
		case all >= domain.MaxBulks:
			return domain.Limitf("context %d has %d bulk operations, which is the limit; they are kept for 7 days", tenant, all)
		}
		if cursor = at.Next; cursor == "" {
			return nil
		}
	}
}

// Show reads one.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Show(ctx context.Context, tenant domain.TenantID, id domain.BulkID) (*domain.Bulk, error) {
	b, _, _, err := e.read(ctx, tenant, id)
	return b, err
}

func (e *Engine) read(ctx context.Context, tenant domain.TenantID, id domain.BulkID) (b *domain.Bulk, cursor string, revision int64, err error) {
	key := layout.Bulk(id)
	recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return nil, "", 0, err
	}
	if recs[0] == nil {
		return nil, "", 0, domain.NotFoundf("bulk operation %d is not there; those that have ended are kept for 7 days", id)
	}
	return layout.DecodeBulk(key, recs[0])
}

// List is a page of a context's bulk operations, newest first.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID, cursor string) (list []*domain.Bulk, at listing.At, err error) {
	recs := listing.Records{Board: e.board, Space: layout.SpaceOf(tenant), Prefix: layout.BulkPrefix,
		Fields: []string{layout.BulkState, layout.BulkRevision}}
	p, err := recs.Newest(ctx, []listing.Numbers{{Counter: layout.Seq("bulk", 0)}}, "", cursor)
	if err != nil {
		return nil, p.At, err
	}
	for i, rec := range p.Records {
		if rec == nil {
			continue
		}
		// One that a foreign program damaged must not hide the others.
		if b, _, _, err := layout.DecodeBulk(p.Keys[i], rec); err == nil {
			list = append(list, b)
		}
	}
	return list, p.At, nil
}

// Cancel ends an operation. What is under way of it is still done, and not counted.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] where it has ended.
func (e *Engine) Cancel(ctx context.Context, tenant domain.TenantID, id domain.BulkID) (*domain.Bulk, error) {
	for range writeTries {
		b, cursor, revision, err := e.read(ctx, tenant, id)
		if err != nil {
			return nil, err
		}
		if b.Final() {
			return nil, domain.Conflictf("bulk operation %d has ended: %s", id, b.Status)
		}
		batch := held(tenant, id, revision)
		b.Status = domain.BulkCancelled
		over(batch, b, cursor, revision)
		if err := e.board.Commit(ctx, *batch); !errors.Is(err, domain.ErrConflict) {
			return b, err
		}
	}
	return nil, domain.Conflictf("bulk operation %d goes on all the time; try again", id)
}

// held is a batch that holds while nobody else has changed the operation.
func held(tenant domain.TenantID, id domain.BulkID, revision int64) *board.Batch {
	b := &board.Batch{Space: layout.SpaceOf(tenant)}
	return b.Equal(layout.Bulk(id), layout.BulkRevision, revisionText(revision))
}

// over writes that an operation has ended, and takes its alarm away.
func over(batch *board.Batch, b *domain.Bulk, cursor string, revision int64) {
	b.EndedMs = time.Now().UnixMilli()
	key := layout.Bulk(b.ID)
	batch.Set(key, layout.EncodeBulk(b, cursor, revision+1)...).Expire(key, keep).ClearAlarm(layout.BulkAlarm(b.ID))
}

// Wait calls each with the operation as it stands, and whenever that has changed, and
// returns it once it has ended.
//
// Errors: [domain.ErrNotFound]; the context's; those of each.
func (e *Engine) Wait(ctx context.Context, tenant domain.TenantID, id domain.BulkID, each func(*domain.Bulk) error) (*domain.Bulk, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := e.board.Watch(ctx, layout.SpaceOf(tenant), layout.Bulk(id))
	if err != nil {
		return nil, err
	}
	for seen := int64(0); ; {
		b, _, revision, err := e.read(ctx, tenant, id)
		if err != nil || b.Final() {
			return b, err
		}
		if revision != seen {
			if err := each(b); err != nil {
				return nil, err
			}
		}
		seen = revision
		poll := time.NewTimer(waitPoll)
		select {
		case _, open := <-events:
			if !open && ctx.Err() == nil {
				err = domain.Unavailablef("the board was closed")
			}
		case <-poll.C:
		case <-ctx.Done():
		}
		poll.Stop()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}
