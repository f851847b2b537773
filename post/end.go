package post

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// maxErrorText bounds what a record says of an error, in bytes.
const maxErrorText = 4 << 10

// ended is how a message ended, at its sender.
type ended struct {
	m       *domain.Message
	key     domain.MessageKey
	status  domain.MessageStatus
	text    string
	stage   domain.Stage
	node    string       // which the other side's word came from
	receipt string       // a refusal, as it came
	answer  string       // the message that answered it
	logs    []domain.Log // what its jobs said
	jobs    []domain.Job // how they ended; those that are missing ended with the message
	now     time.Time
}

// acknowledge adds to b that the receiver has the message. What asks for no
// answer is processed by that.
func (e *Engine) acknowledge(b *board.Batch, n ended, node string) {
	n.node = node
	if n.m.MessageType != domain.MessageJob {
		n.status = domain.MessageProcessed
		e.close(b, n)
		return
	}
	item := n.key.String()
	b.Set(item,
		board.Field{Name: layout.MessageStatus, Value: string(domain.MessageAcknowledged)},
		board.Field{Name: layout.MessageUpdatedAt, Value: strconv.FormatInt(n.now.Unix(), 10)},
		board.Field{Name: layout.MessageAckedMs, Value: strconv.FormatInt(n.now.UnixMilli(), 10)},
		board.Field{Name: layout.MessageNode, Value: node})
	b.DropSome(layout.MsgSent, -1, item)
	b.ClearAlarm(layout.MessageAlarm(layout.AlarmPush, n.key))
	b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, n.key), n.now.Add(n.m.TimeoutOf(domain.StageResult)))
}

// acknowledged counts a message that ended by being acknowledged.
func (e *Engine) acknowledged(m *domain.Message, now time.Time) {
	if m.MessageType != domain.MessageJob {
		e.cfg.Observer.MessageEnded(m.MessageType, domain.MessageProcessed, lasted(m, now))
	}
}

// lasted is how long a message took; 0 where its writer does not say when it was made.
func lasted(m *domain.Message, now time.Time) time.Duration {
	if m.CreatedAt == 0 {
		return 0
	}
	return now.Sub(m.CreatedAt.Time())
}

// endAfter is when the jobs of an ended message are ended by an alarm, where
// who ended the message has not done it.
const endAfter = 10 * time.Second

// close adds to b that the message has ended: no queue, no buffer has it any
// more. The jobs that it took away are ended next.
func (e *Engine) close(b *board.Batch, n ended) {
	item := n.key.String()
	set := func(name, value string) {
		if value != "" {
			b.Set(item, board.Field{Name: name, Value: value})
		}
	}
	text := n.text
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	set(layout.MessageStatus, string(n.status))
	set(layout.MessageUpdatedAt, strconv.FormatInt(n.now.Unix(), 10))
	set(layout.MessageEndedMs, strconv.FormatInt(n.now.UnixMilli(), 10))
	set(layout.MessageError, text)
	set(layout.MessageStage, string(n.stage))
	set(layout.MessageNode, n.node)
	set(layout.MessageReceipt, n.receipt)
	set(layout.MessageAnswer, n.answer)
	if len(n.logs) > 0 {
		b.Set(item, layout.MessageLogsField(n.logs))
	}
	b.DropSome(layout.MsgSent, -1, item)
	b.ClearAlarm(layout.MessageAlarm(layout.AlarmPush, n.key))
	b.Delete(layout.MessageLog(n.key))
	if len(n.m.Job) > 0 && n.m.MessageType == domain.MessageJob {
		b.Set(item, board.Field{Name: layout.MessageEnding, Value: "1"})
		b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, n.key), n.now.Add(endAfter))
		return
	}
	e.settle(b, n.key)
}

// settle adds to b that nothing of a message is left to do; after a while it
// goes.
func (e *Engine) settle(b *board.Batch, key domain.MessageKey) {
	b.ClearAlarm(layout.MessageAlarm(layout.AlarmLate, key))
	b.Settle(key.String())
	b.PushLeft(layout.Finished, key.String())
}

// end ends a message of this board for good: first the message itself, then the
// jobs that it took away. So its time-out, its result and a refusal, which may
// all come at once, never end one half of them each. b brings the guards.
//
// Errors: [domain.ErrConflict] where the message has moved; any other may mean
// that it has ended and its jobs have not all, which an alarm ends in a while.
func (e *Engine) end(ctx context.Context, b *board.Batch, n ended) error {
	e.close(b, n)
	if err := e.board.Commit(ctx, *b); err != nil {
		return err
	}
	e.cfg.Observer.MessageEnded(n.m.MessageType, n.status, lasted(n.m, n.now))
	if n.m.MessageType != domain.MessageJob || len(n.m.Job) == 0 {
		return nil
	}
	return e.endRest(ctx, board.Batch{Space: b.Space}, n)
}

// endRest ends the jobs of a message that has ended, and settles it. b brings
// the guards.
func (e *Engine) endRest(ctx context.Context, b board.Batch, n ended) error {
	if err := e.endJobs(ctx, domain.TenantID(b.Space), n); err != nil {
		return err
	}
	b.Equal(n.key.String(), layout.MessageEnding, "1").Unset(n.key.String(), layout.MessageEnding)
	e.settle(&b, n.key)
	return unlessConflict(e.board.Commit(ctx, b))
}

// endAgain ends the jobs of an ended message as its record says that it ended. b
// brings the guards.
func (e *Engine) endAgain(ctx context.Context, b board.Batch, m *domain.Message) error {
	n := ended{m: m, key: m.Key(), status: m.Status, text: m.Error, stage: m.Stage, now: time.Now()}
	if key, err := domain.ParseMessageKey(m.Answer); err == nil {
		answer, _, err := e.load(ctx, b.Space, key)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
		if err == nil {
			n.jobs = answer.Job
		}
	}
	return e.endRest(ctx, b, n)
}

// endJobs ends the records here of jobs that were to run elsewhere.
func (e *Engine) endJobs(ctx context.Context, tenant domain.TenantID, n ended) error {
	how := make(map[domain.JobID]*domain.Job, len(n.jobs))
	for i := range n.jobs {
		how[n.jobs[i].ID] = &n.jobs[i]
	}
	keys := make([]string, len(n.m.Job))
	for i := range n.m.Job {
		keys[i] = domain.JobKey{Caller: n.key.Caller, ID: n.m.Job[i].ID}.String()
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space(tenant), copyFields, keys...))
	if err != nil {
		return err
	}
	for i, rec := range recs {
		if rec.Get(layout.JobMessage) != n.key.String() && !untouched(rec) {
			continue // the sender keeps no record of it, or has another job of that id
		}
		key := domain.JobKey{Caller: n.key.Caller, ID: n.m.Job[i].ID}
		r := work.Remote{Status: domain.JobError, Reason: domain.ReasonRefused, Error: n.text}
		if n.stage != "" {
			r.Reason = domain.ReasonTimeout
		}
		if j := how[key.ID]; j != nil {
			r = work.Remote{Status: j.Status, Reason: j.Reason, Error: j.Error, Result: j.Result, ExitCode: j.ExitCode}
		} else if n.status != domain.MessageError {
			r.Error = "the answer to " + n.key.String() + " says nothing of it"
		}
		err := e.cfg.Work.EndRemote(ctx, tenant, key, r)
		if err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
	}
	return nil
}
