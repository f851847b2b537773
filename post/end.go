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
	"github.com/ramet-run/ramet/queue"
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
	b.DropSome(queue.MsgSent, -1, item)
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
	e.addEnd(b, n)
	if len(n.m.Job) > 0 && n.m.MessageType == domain.MessageJob {
		b.Set(n.key.String(), board.Field{Name: layout.MessageEnding, Value: "1"})
		b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, n.key), n.now.Add(endAfter))
		return
	}
	e.settle(b, n.key)
}

// closeWhole is close where the same commit ends the jobs.
func (e *Engine) closeWhole(b *board.Batch, n ended) {
	e.addEnd(b, n)
	e.settle(b, n.key)
}

func (e *Engine) addEnd(b *board.Batch, n ended) {
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
	if n.m.Status != domain.MessageAcknowledged { // else they went when it was
		b.DropSome(queue.MsgSent, -1, item)
		b.ClearAlarm(layout.MessageAlarm(layout.AlarmPush, n.key))
	}
	b.Delete(layout.MessageLog(n.key))
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
	e.ended(n)
	if n.m.MessageType != domain.MessageJob || len(n.m.Job) == 0 {
		return nil
	}
	return e.endRest(ctx, board.Batch{Space: b.Space}, n)
}

// ended counts a message that has ended.
func (e *Engine) ended(n ended) {
	e.cfg.Observer.MessageEnded(n.m.MessageType, n.status, lasted(n.m, n.now))
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
	n := ended{m: m, key: m.Key(), status: m.Status, text: m.Error, stage: m.Stage, now: e.board.Now()}
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
	jobs, err := e.copiesEnding(ctx, space(tenant), n, copyFields)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		err := e.cfg.Work.EndRemote(ctx, tenant, j.Key(), n.of(j.ID))
		if err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
	}
	return nil
}

// addJobEnds adds to b what endJobs does. It is false where one of the jobs has to
// be ended by itself.
func (e *Engine) addJobEnds(ctx context.Context, b *board.Batch, n ended) (bool, error) {
	jobs, err := e.copiesEnding(ctx, b.Space, n, nil)
	for _, j := range jobs {
		if err != nil || !e.cfg.Work.AddRemoteEnd(ctx, b, j, n.of(j.ID), n.now) {
			return false, err
		}
	}
	return err == nil, err
}

// copiesEnding are the records here of the jobs of a message that ends, with some
// of their fields; nil is all.
func (e *Engine) copiesEnding(ctx context.Context, s board.Space, n ended, fields []string) ([]*domain.Job, error) {
	keys := make([]string, len(n.m.Job))
	for i := range n.m.Job {
		keys[i] = domain.JobKey{Caller: n.key.Caller, ID: n.m.Job[i].ID}.String()
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var recs []board.Record
	var err error
	if fields == nil {
		recs, err = board.Readable(e.board.Get(ctx, s, keys...))
	} else {
		recs, err = board.Readable(e.board.GetFields(ctx, s, fields, keys...))
	}
	if err != nil {
		return nil, err
	}
	jobs := make([]*domain.Job, 0, len(keys))
	for i, rec := range recs {
		if rec.Get(layout.JobMessage) != n.key.String() && !untouched(rec) {
			continue // the sender keeps no record of it, or has another job of that id
		}
		j, _ := layout.DecodeJob(domain.JobKey{Caller: n.key.Caller, ID: n.m.Job[i].ID}, rec)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// of is how a job of the message ended.
func (n *ended) of(id domain.JobID) work.Remote {
	r := work.Remote{Status: domain.JobError, Reason: domain.ReasonRefused, Error: n.text}
	if n.stage != "" {
		r.Reason = domain.ReasonTimeout
	}
	for i := range n.jobs {
		if j := &n.jobs[i]; j.ID == id {
			return work.Remote{Status: j.Status, Reason: j.Reason, Error: j.Error, Result: j.Result, ExitCode: j.ExitCode}
		}
	}
	if n.status != domain.MessageError {
		r.Error = "the answer to " + n.key.String() + " says nothing of it"
	}
	return r
}
