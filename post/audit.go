package post

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

const (
	// auditAfter is how long a message may stand as it does before it is doubted.
	auditAfter = time.Minute
	// auditScan bounds what is looked through of a queue.
	auditScan = 20_000
)

// Audit looks for unfinished messages of a context that nothing would ever
// move, and puts them back where they are moved from: all that is done with a
// message can be done again. It rests after each page, rest times as long as
// that took.
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error) {
	a := auditor{e: e, space: space(tenant), before: e.board.Now().Add(-auditAfter), queues: map[string][]string{}}
	var after board.LiveItem
	for {
		page, err := e.board.Live(ctx, a.space, after, listPage)
		if err != nil || len(page) == 0 {
			return a.report, err
		}
		begun := time.Now()
		for _, item := range page {
			if !strings.HasPrefix(item.Item, layout.MessagePrefix) || item.At.After(a.before) {
				continue
			}
			if err := a.report.Strange(item.Item, a.look(ctx, item)); err != nil {
				return a.report, err
			}
		}
		after = page[len(page)-1]
		if rest > 0 {
			pause.For(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
}

type auditor struct {
	e      *Engine
	space  board.Space
	before time.Time
	queues map[string][]string // what is in them, as far as it was looked through
	report domain.Audit
}

func (a *auditor) look(ctx context.Context, it board.LiveItem) error {
	item := it.Item
	key, err := domain.ParseMessageKey(item)
	if err != nil {
		return nil
	}
	a.report.Looked++
	m, rec, err := a.e.load(ctx, a.space, key)
	ending := rec.Get(layout.MessageEnding) != ""
	if errors.Is(err, domain.ErrNotFound) {
		return work.SettleLost(ctx, a.e.board, a.space, it, &a.report)
	} else if err == nil && m.Final() && !ending {
		b := board.Batch{Space: a.space}
		b.Equal(item, layout.MessageStatus, rec.Get(layout.MessageStatus)).Settle(item)
		return unlessConflict(a.e.board.Commit(ctx, b))
	} else if err != nil {
		return err
	}
	alive, err := a.alive(ctx, key, m, rec)
	if err != nil || alive {
		return err
	}
	b := board.Batch{Space: a.space}
	if rec.Get(board.FieldOwner) != "" { // whose lease is gone
		b.Equal(item, board.FieldOwner, rec.Get(board.FieldOwner)).Release(item).Unset(item, board.FieldOwner, board.FieldQueue)
	} else {
		b.Free(item)
	}
	b.Equal(item, layout.MessageStatus, rec.Get(layout.MessageStatus))
	b.Equal(item, board.FieldAttempt, rec.Get(board.FieldAttempt))
	b.Equal(item, layout.MessageOpen, rec.Get(layout.MessageOpen))
	if ending {
		b.Equal(item, layout.MessageEnding, "1")
		b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, key), a.e.board.Now())
	} else if m.Status == domain.MessageAcknowledged && m.Origin == "" {
		// What waits for a result has only its time-out to end it.
		b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, key), a.e.board.Now().Add(m.TimeoutOf(domain.StageResult)))
	} else if rec.Get(layout.MessageTaken) != "" {
		// Its jobs are gone: a program took them off the board, or all have been
		// told of. What is known of them is the answer.
		b.Set(item, board.Field{Name: layout.MessageOpen, Value: "0"})
		b.PushLeft(queue.PostResult, item)
	} else {
		b.PushLeft(queueOf(m, rec), item)
	}
	err = a.e.board.Commit(ctx, b)
	if err == nil {
		a.report.Repaired = append(a.report.Repaired, domain.Finding{Key: item, Text: "nothing would have moved it; queued again"})
	}
	return unlessConflict(err)
}

// alive reports whether anything moves the message.
func (a *auditor) alive(ctx context.Context, key domain.MessageKey, m *domain.Message, rec board.Record) (bool, error) {
	if rec.Get(board.FieldOwner) != "" {
		_, held, err := a.e.board.LeaseOf(ctx, a.space, key.String())
		return held, err
	}
	if m.Origin == "" {
		if m.Pushes == 0 && m.Status == domain.MessageDispatched {
			return a.queued(ctx, queue.MsgOut, key)
		}
		for _, kind := range []layout.AlarmKind{layout.AlarmLate, layout.AlarmPush} {
			if _, set, err := a.e.board.AlarmOf(ctx, a.space, layout.MessageAlarm(kind, key)); err != nil || set {
				return set, err
			}
		}
		return a.queued(ctx, queue.PostPush, key)
	}
	if open := rec.Get(layout.MessageOpen); open != "" && open != "0" {
		return a.working(ctx, m, rec)
	}
	return a.queued(ctx, queueOf(m, rec), key)
}

// working reports whether a job or flow of a received message has not ended.
func (a *auditor) working(ctx context.Context, m *domain.Message, rec board.Record) (bool, error) {
	made, _ := layout.MadeOf(rec)
	for _, d := range made {
		if d.Flow != 0 {
			f, err := a.e.cfg.Flows.Show(ctx, m.ContextID, d.Flow)
			if err == nil && !f.Final() || err != nil && !errors.Is(err, domain.ErrNotFound) {
				return true, err
			}
			continue
		}
		j, err := a.e.cfg.Work.Show(ctx, m.ContextID, domain.JobKey{Caller: m.CallerID, ID: d.Ours})
		if err == nil && (!j.Final() || j.FinishedMs == 0) || err != nil && !errors.Is(err, domain.ErrNotFound) {
			return true, err
		}
	}
	return a.queued(ctx, queue.MsgIn, domain.MessageKey{Caller: m.CallerID, ID: m.ID})
}

// queued reports whether a queue has the message. What was read of the queue
// before is good for a yes only: it may have come since.
func (a *auditor) queued(ctx context.Context, queue string, key domain.MessageKey) (bool, error) {
	if a.in(queue, key) {
		return true, nil
	}
	items, err := a.e.board.List(ctx, a.space, queue, 0, auditScan)
	if err != nil {
		return false, err
	}
	a.queues[queue] = items
	return a.in(queue, key), nil
}

func (a *auditor) in(queue string, key domain.MessageKey) bool {
	items := a.queues[queue]
	// In a queue that is too long to look through it may well be.
	return len(items) >= auditScan || slices.Contains(items, key.String())
}

// Explain answers for one message: what it waits for, and what will wake it.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (domain.MessageExplanation, error) {
	m, rec, err := e.load(ctx, space(tenant), key)
	if err != nil {
		return domain.MessageExplanation{}, err
	}
	x := domain.MessageExplanation{Key: key.String(), Status: m.Status, Holder: rec.Get(board.FieldOwner)}
	d, err := e.sites.look(ctx)
	if err != nil {
		return x, err
	}
	for kind, next := range map[layout.AlarmKind]*int64{layout.AlarmPush: &x.PushMs, layout.AlarmLate: &x.LateMs} {
		at, set, err := e.board.AlarmOf(ctx, space(tenant), layout.MessageAlarm(kind, key))
		if err != nil {
			return x, err
		}
		if set {
			*next = at.UnixMilli()
		}
	}
	x.Text = sentence(&x, m, rec, d)
	ended := m.Final() && rec.Get(layout.MessageEnding) == ""
	if !ended {
		a := auditor{e: e, space: space(tenant), queues: map[string][]string{}}
		alive, err := a.alive(ctx, key, m, rec)
		if err != nil {
			return x, err
		}
		if x.Outlook = domain.OutlookMoves; !alive {
			return x, e.unmoved(ctx, tenant, key, &x)
		}
	}
	if m.Origin == "" && m.Signature == "" && m.Pushes > 0 && !m.Final() && x.Holder == "" {
		x.Text = e.unsigned(ctx, m.CallerID)
	}
	return x, nil
}

// unmoved says of a message that nothing moves what the audit does about it, or that no audit comes by it.
func (e *Engine) unmoved(ctx context.Context, tenant domain.TenantID, key domain.MessageKey, x *domain.MessageExplanation) error {
	since, live, err := e.liveSince(ctx, space(tenant), key.String())
	if err != nil {
		return err
	}
	if !live {
		x.Outlook = domain.OutlookHeld
		x.Text = "it was written past every door, and no node has found it in a queue: LPUSH " + queue.MsgOut + " " + x.Key + " sends it"
		return nil
	}
	x.Outlook, x.Text = domain.OutlookMended, "nothing would move it: the next audit brings it back"
	if from := since.Add(auditAfter); from.After(e.board.Now()) {
		x.Text += ", from " + from.UTC().Format(time.RFC3339) + " on"
	}
	return nil
}

// liveSince finds a message among what is unfinished, where audits look.
func (e *Engine) liveSince(ctx context.Context, space board.Space, item string) (since time.Time, live bool, err error) {
	var after board.LiveItem
	for looked := 0; looked < auditScan; {
		page, err := e.board.Live(ctx, space, after, listPage)
		if err != nil || len(page) == 0 {
			return time.Time{}, false, err
		}
		for _, it := range page {
			if it.Item == item {
				return it.At, true, nil
			}
		}
		looked += len(page)
		after = page[len(page)-1]
	}
	return time.Time{}, true, nil // it may stand behind that
}

// unsigned says why a message that another program wrote has not left.
func (e *Engine) unsigned(ctx context.Context, caller domain.ActorID) string {
	if _, err := e.keyOf(ctx, caller); err != nil {
		return "nobody has signed it: " + err.Error() + "; it is tried again " + strconv.Itoa(keylessPushes) + " times at the most"
	}
	return "nobody has signed it; this node can, when it is tried again"
}

func sentence(x *domain.MessageExplanation, m *domain.Message, rec board.Record, d directory) string {
	site := d.siteOf(m.DstNode)
	if m.DstNode == "" {
		site = "this site"
	}
	switch {
	case rec.Get(layout.MessageEnding) != "":
		return "it has ended: " + string(m.Status) + "; the records here of its jobs end next"
	case m.Status == domain.MessageError:
		return "it has ended in error: " + m.Error
	case m.Final():
		return "it has been processed"
	case x.Holder != "":
		return "a supervisor has it: " + x.Holder
	case m.Origin != "" && rec.Get(layout.MessageOpen) != "":
		return "it came from " + d.siteOf(m.Node) + "; " + rec.Get(layout.MessageOpen) + " of its jobs have not ended"
	case m.Origin != "":
		return "it came from " + d.siteOf(m.Node) + " and waits in msg_in"
	case m.Status == domain.MessageAcknowledged:
		return "it is at " + site + ", which is to send the result"
	case m.SentMs != 0:
		return "it was sent to " + site + ", which has not acknowledged it; it is pushed again"
	case m.Pushes > 0:
		return "no bus has taken it yet to " + site + "; it is tried again"
	}
	return "it waits in msg_out"
}
