package flow

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file holds up flows whose concurrency key others have.
//
// The flows of a key stand in one list, in the order in which they came, and those within
// the first max of it hold the key. So to hold it is no change of its own: who leaves takes
// its entry out, in the commit that ends it, and wakes those that come to stand within
// their max by that. A place only ever becomes smaller.

// entry is a flow in a line: "<flow> <max>".
func entryOf(id domain.FlowID, most int) string {
	return strconv.FormatUint(uint64(id), 10) + " " + strconv.Itoa(most)
}

// parseEntry reads one; max is 1 where a foreign program has written something else.
func parseEntry(text string) (id domain.FlowID, most int) {
	first, second, _ := strings.Cut(text, " ")
	id, _ = domain.ParseFlowKey(first)
	n, _ := strconv.Atoi(second)
	return id, min(max(n, 1), domain.MaxConcurrency)
}

// front are the entries of a line in which those may be that hold its key, and the one that
// is next, oldest first; total is how many there are.
func (e *Engine) front(ctx context.Context, space board.Space, key string, most int) (list []string, total int, err error) {
	line := layout.FlowLineOf(key)
	n, err := e.board.Len(ctx, space, line)
	if err != nil {
		return nil, 0, err
	}
	items, err := e.board.List(ctx, space, line, -(most + 1), most+1)
	if err != nil {
		return nil, 0, err
	}
	for i := len(items) - 1; i >= 0; i-- {
		list = append(list, items[i])
	}
	return list, n[0], nil
}

// queueUp has a flow that may begin stand in line for its key. held says that it must wait;
// done that something was committed, and the round begins anew.
func (t *tending) queueUp(ctx context.Context, plan *Plan, s *seen) (held, done bool, err error) {
	c := plan.Concurrency
	switch {
	case c == nil:
		return false, false, nil
	case s.flow.Final() && s.Line != "": // it was given up
		next := s.State.clone()
		next.Line, next.LineMax, next.Turn = "", 0, false
		return true, true, t.putLine(ctx, s, next, t.batch())
	case s.Turn:
		return false, false, nil
	case s.flow.Final():
		s.more = true // where an order lets it go on, it stands in line in the next round
		return true, false, nil
	case s.Cancelled != "" || s.flow.AfterMs > s.now.UnixMilli():
		return s.Line != "", false, nil
	case s.Line == "":
		if within, err := t.withinKey(ctx, plan, s); within || err != nil {
			return true, true, err
		}
		return true, true, t.join(ctx, plan, s)
	}
	most := c.MaxOr()
	list, _, err := t.front(ctx, t.ref.space, s.Line, most)
	if err != nil {
		return false, false, err
	}
	for _, text := range list[:min(most, len(list))] {
		if id, _ := parseEntry(text); id == t.ref.id {
			next := s.State.clone()
			next.Turn = true
			return false, true, t.putLine(ctx, s, next, t.batch())
		}
		if gone, err := t.vanished(ctx, text, s.Line); gone || err != nil {
			return true, true, err
		}
	}
	s.full = c.WhenFull == domain.FullSkip
	return true, false, nil
}

// putLine commits a state in which only the flow's place has changed.
func (t *tending) putLine(ctx context.Context, s *seen, next State, b board.Batch) error {
	t.putSteps(&b, s, next, nil)
	return t.board.Commit(ctx, b)
}

// withinKey lets a flow begin without a place of its own that is part of one which holds its
// key: in line it would wait for that, and that for it.
func (t *tending) withinKey(ctx context.Context, plan *Plan, s *seen) (bool, error) {
	key, err := concurrencyKey(plan, &s.flow)
	if err != nil {
		return false, err
	}
	for parent := s.flow.Parent; parent != nil; {
		above := ref{t.ref.space, parent.Flow}
		st, there, err := t.readState(ctx, above)
		if err != nil || !there {
			return false, err
		}
		if st.Line == key {
			next := s.State.clone()
			next.Turn = true
			return true, t.putLine(ctx, s, next, t.batch())
		}
		f, err := t.load(ctx, above)
		if errors.Is(err, domain.ErrNotFound) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		parent = f.Parent
	}
	return false, nil
}

// join puts the flow at the end of its line.
func (t *tending) join(ctx context.Context, plan *Plan, s *seen) error {
	c := plan.Concurrency
	key, err := concurrencyKey(plan, &s.flow)
	if err != nil {
		return err
	}
	b := t.batch()
	b.PushLeft(layout.FlowLineOf(key), entryOf(t.ref.id, c.MaxOr()))
	if c.WhenFull == domain.FullCancelOld {
		if err := t.cancelOld(ctx, &b, key, c.MaxOr(), s); err != nil {
			return err
		}
	}
	next := s.State.clone()
	next.Line, next.LineMax = key, c.MaxOr()
	return t.putLine(ctx, s, next, b)
}

// cancelOldMost is how many flows one more cancels.
const cancelOldMost = 100

// cancelOld adds to b that the oldest of a line are cancelled, so that one more has its turn.
func (t *tending) cancelOld(ctx context.Context, b *board.Batch, key string, most int, s *seen) error {
	items, err := t.board.List(ctx, t.ref.space, layout.FlowLineOf(key), 0, domain.MaxConcurrency+cancelOldMost)
	if err != nil {
		return err
	}
	for n := len(items) - 1; n >= most-1 && len(items)-1-n < cancelOldMost; n-- {
		id, _ := parseEntry(items[n])
		recs, err := t.board.GetFields(ctx, t.ref.space, []string{layout.FlowStatus}, domain.FlowKey(id))
		if err != nil {
			return err
		}
		if recs[0] == nil || domain.FlowStatus(recs[0].Get(layout.FlowStatus)).Final() {
			continue
		}
		text, err := json.Marshal(Order{ID: rand.Text()[:12], Verb: OrderCancel, By: s.caller, For: t.ref.id, AtMs: s.now.UnixMilli()})
		if err != nil {
			return err
		}
		b.PushLeft(layout.FlowOrders(id), string(text))
		wake(b, id)
	}
	return nil
}

// leaveLine adds to b that a flow which ends leaves its line, and wakes whose turn it is.
func (e *Engine) leaveLine(ctx context.Context, b *board.Batch, space board.Space, key, entry string) error {
	list, total, err := e.front(ctx, space, key, domain.MaxConcurrency)
	if err != nil {
		return err
	}
	line := layout.FlowLineOf(key)
	b.Length(line, total).Drop(line, entry) // who else comes or leaves meanwhile has us look again
	before := true
	for i, text := range list {
		if text == entry {
			before = false
			continue
		}
		if id, most := parseEntry(text); !before && i == most {
			wake(b, id)
		}
	}
	return nil
}

// vanished takes a flow out of a line that is not there any more: a foreign program has
// removed its record.
func (t *tending) vanished(ctx context.Context, text, key string) (bool, error) {
	id, _ := parseEntry(text)
	recs, err := t.board.GetFields(ctx, t.ref.space, []string{layout.FlowStatus}, domain.FlowKey(id))
	if err != nil || recs[0] != nil && !domain.FlowStatus(recs[0].Get(layout.FlowStatus)).Final() {
		return false, err
	}
	b := t.batch()
	if err := t.leaveLine(ctx, &b, t.ref.space, key, text); err != nil {
		return false, err
	}
	return true, t.board.Commit(ctx, b)
}

// inLine is where a flow stands that waits for its key; ok is false where it stands in no
// line, or its turn has come.
func (e *Engine) inLine(ctx context.Context, p ref, s *State) (l domain.InLine, ok bool, err error) {
	if s.Line == "" || s.Turn {
		return l, false, nil
	}
	line := layout.FlowLineOf(s.Line)
	l.Key = s.Line
	n, err := e.board.Len(ctx, p.space, line)
	if err != nil {
		return l, false, err
	}
	for to := n[0]; to > 0; to -= listPage { // from the oldest on
		from := max(0, to-listPage)
		items, err := e.board.List(ctx, p.space, line, from, to-from)
		if err != nil {
			return l, false, err
		}
		for i := len(items) - 1; i >= 0; i-- {
			id, most := parseEntry(items[i])
			if id == p.id {
				l.Max = most
				return l, l.Ahead >= most, nil
			}
			if l.Ahead++; len(l.Holders) < maxHoldersNamed {
				l.Holders = append(l.Holders, domain.FlowKey(id))
			}
		}
	}
	return l, false, nil
}

// maxHoldersNamed is how many flows that hold a key are named.
const maxHoldersNamed = 5
