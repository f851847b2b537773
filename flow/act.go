package flow

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// actWithin is how long an order is waited for. It is done in any case.
	actWithin = 10 * time.Second
	actPoll   = time.Second
	// orderIDLen is how long the id of an order is, in bytes.
	orderIDLen = 12
)

// Act has an order done by the flow's keeper: durably taken when it returns,
// whether it has been done yet or not. done is false where that takes longer.
//
// Errors: [domain.ErrInvalid] for a text that is too long; [domain.ErrNotFound];
// [domain.ErrConflict] with the keeper's reason.
func (e *Engine) Act(ctx context.Context, tenant domain.TenantID, id domain.FlowID, o Order) (done bool, err error) {
	if n := len(o.Text); n > domain.MaxSummaryBytes {
		return false, domain.Invalidf("the text has %d bytes, the limit is %d", n, domain.MaxSummaryBytes)
	}
	p := ref{layout.SpaceOf(tenant), id}
	f, err := e.load(ctx, p)
	if errors.Is(err, domain.ErrNotFound) && o.Verb == OrderRetry {
		if err = e.restore(ctx, p); err == nil {
			f, err = e.load(ctx, p)
		}
	}
	if errors.Is(err, domain.ErrNotFound) && o.Verb == OrderDelete && o.Forget {
		return true, e.forgetArchived(ctx, p)
	}
	if err == nil {
		err = e.checkAnswers(ctx, tenant, id, &o)
	}
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	events, err := e.board.Watch(ctx, p.space, layout.FlowState(id))
	if err != nil {
		return false, err
	}
	now := e.board.Now()
	o.ID, o.AtMs = cmp.Or(o.Ticket, rand.Text())[:orderIDLen], now.UnixMilli()
	text, err := json.Marshal(o)
	if err != nil {
		return false, err
	}
	b := board.Batch{Space: p.space}
	ticket := layout.Ticket(o.Ticket)
	if o.Ticket != "" {
		b.Absent(ticket).Set(ticket, board.Field{Name: layout.FlowNameID, Value: strconv.FormatUint(uint64(id), 10)}).Expire(ticket, ticketFor)
	}
	b.Equal(f.Key(), layout.FlowCaller, strconv.FormatUint(uint64(f.CallerID), 10)) // it is still there
	b.PushLeft(layout.FlowOrders(id), string(text))
	wake(&b, id)
	err = e.board.Commit(ctx, b)
	if g := (*board.GuardError)(nil); errors.As(err, &g) && g.Guard.Key == ticket {
		err = nil // the order was given before
	}
	if errors.Is(err, domain.ErrConflict) {
		return false, missing(p) // it was removed just now
	} else if err != nil {
		return false, err
	}
	return e.awaitAnswer(ctx, p, o, events)
}

// addOrder adds to b that the keeper of a flow that is as it was read gets an order.
func addOrder(b *board.Batch, f *domain.Flow, o Order) error {
	o.AtMs = time.Now().UnixMilli()
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	b.Equal(f.Key(), layout.FlowCaller, strconv.FormatUint(uint64(f.CallerID), 10)).Equal(f.Key(), layout.FlowStatus, string(f.Status))
	b.PushLeft(layout.FlowOrders(f.ID), string(text))
	wake(b, f.ID)
	return nil
}

// awaitAnswer waits until the keeper has done an order.
func (e *Engine) awaitAnswer(ctx context.Context, p ref, o Order, events <-chan board.Event) (done bool, err error) {
	poll := time.NewTicker(actPoll)
	defer poll.Stop()
	for {
		recs, err := e.board.Get(ctx, p.space, layout.FlowState(p.id))
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		case recs[0] == nil:
			return true, nil // it was removed
		}
		s, err := decodeState(p.id, recs[0])
		if err != nil {
			return false, err
		}
		if a, ok := s.answered(o.ID); ok {
			if a.Error != "" {
				return true, domain.Conflictf("flow %d: %s", p.id, a.Error)
			}
			if o.Verb != OrderDelete { // which is done when the flow is gone
				return true, nil
			}
		}
		select {
		case <-events:
		case <-poll.C:
		case <-ctx.Done():
		}
	}
}

// Pause holds a flow up, or lets it go on: no more jobs of it are made. That
// those which are made already are not begun either is the ban's part, which
// goes with it.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] where it has ended.
func (e *Engine) Pause(ctx context.Context, tenant domain.TenantID, id domain.FlowID, paused bool) error {
	p := ref{layout.SpaceOf(tenant), id}
	f, err := e.load(ctx, p)
	if err != nil {
		return err
	}
	if f.Final() {
		return domain.Conflictf("flow %d has ended: it is %s", id, f.Reason)
	}
	b := board.Batch{Space: p.space}
	b.Equal(f.Key(), layout.FlowStatus, string(f.Status))
	if paused {
		b.Set(f.Key(), board.Field{Name: layout.FlowPaused, Value: "true"})
	} else {
		b.Unset(f.Key(), layout.FlowPaused)
	}
	wake(&b, id)
	return e.board.Commit(ctx, b)
}
