package effect

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file has what becomes of commands that nobody can do: a dead letter, for a
// person. It lies in the space of the command's context; in space 0, under a
// key without context, where there is none of that name.

// TroublesDurable is the consumer by which all nodes share what brokers gave
// up on.
const TroublesDurable = "effect-troubles"

// newDead is the dead letter of a message.
func newDead(m stream.Message, c domain.EffectCommand, cause string, attempts int, now time.Time) domain.DeadLetter {
	return domain.DeadLetter{Kind: domain.DeadEffect, ID: deadID(c, m), Effect: c.EffectName, Saga: c.Metadata[domain.MetaSaga],
		Correlation: c.Metadata[domain.MetaCorrelation], Trace: c.Metadata[domain.MetaTrace],
		Cause: domain.CutText(cause, domain.MaxDeadCause), Attempts: attempts, Stream: string(m.Stream), Seq: m.Seq, Subject: m.Subject,
		Data: domain.CutText(string(m.Data), domain.MaxEventBytes), MadeMs: now.UnixMilli()}
}

// encodeDead writes a dead letter. Of data that is full of what JSON must escape
// there is less in it: it must fit into a field.
func encodeDead(d domain.DeadLetter) string {
	for {
		text := mustJSON(d)
		if len(text) <= board.MaxField {
			return string(text)
		}
		d.Data = domain.CutText(d.Data, len(d.Data)/2)
	}
}

// deadLetter writes a dead letter. One of the same message that is there stays: it
// was written by somebody who knew more.
func (w *Worker) deadLetter(ctx context.Context, d domain.DeadLetter, tenant string) error {
	id, err := w.cfg.Tenant(ctx, tenant)
	if errors.Is(err, domain.ErrNotFound) {
		id, tenant, err = 0, "", nil
	}
	if err != nil {
		return err
	}
	space, key := layout.SpaceOf(id), layout.SagaKeys{Tenant: tenant}.Dead(domain.DeadEffect, d.ID)
	if len(key) > board.MaxKey {
		d.ID = deadID(domain.EffectCommand{}, stream.Message{Stream: domain.StreamName(d.Stream), Seq: d.Seq})
		space, key = 0, layout.SagaKeys{}.Dead(domain.DeadEffect, d.ID)
	}
	recs, err := w.board.Get(ctx, space, key)
	if err != nil {
		return err
	}
	var old domain.DeadLetter
	if json.Unmarshal([]byte(recs[0].Get(layout.DeadText)), &old) == nil && old.Stream == d.Stream && old.Seq == d.Seq {
		return nil
	}
	b := board.Batch{Space: space}
	b.Equal(key, layout.DeadText, recs[0].Get(layout.DeadText))
	b.Set(key, board.Field{Name: layout.DeadText, Value: encodeDead(d)})
	err = w.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil // another node has written it just now
	}
	if err == nil {
		w.text.Warn("command has become a dead letter", "effect", d.Effect, "id", d.ID, "subject", d.Subject, "cause", d.Cause)
		w.cfg.Observer.EffectDead(d.Effect)
	}
	return err
}

// die makes a dead letter of a command, and ends it.
func (t *run) die(ctx context.Context, cause error) {
	d := newDead(t.m, t.command, cause.Error(), t.d.Deliveries(), time.Now())
	d.Effect = t.consumer.e.Name
	if err := t.consumer.w.deadLetter(ctx, d, t.command.TenantID); err != nil {
		t.consumer.w.text.Warn("dead letter cannot be written; the command comes again", "effect", t.consumer.e.Name, "err", err)
		t.again(t.soon())
		return
	}
	t.tell(func(ctx context.Context) error { return t.d.Term(ctx, cause.Error()) })
}

// GiveUp ends the command of a dead letter that a person drops: who asked for it gets the
// result Failed, as of one that was tried too often, where it has none yet. Of what was no
// command nothing is told.
func GiveUp(ctx context.Context, log stream.Log, b board.Board, tenant domain.TenantID, d *domain.DeadLetter) error {
	c, err := parseCommand(stream.Message{Subject: d.Subject, Data: []byte(d.Data)})
	if err != nil {
		if d.Saga == "" || c.CommandID == "" {
			return nil
		}
		c.Metadata = map[string]string{domain.MetaSaga: d.Saga, domain.MetaCorrelation: d.Correlation} // the data was cut
	}
	space, key := layout.SpaceOf(tenant), keys(c).Done(c.CommandID)
	for {
		recs, err := b.Get(ctx, space, key)
		if err != nil {
			return err
		}
		m := decodeMark(recs[0])
		if m.Status == MarkDone {
			return nil
		}
		if was := m.Status; was != MarkDecided {
			m.Status = MarkDecided
			m.Result = encodeResult(result(c, domain.ResultFailed, m.Attempts, nil, "given up by hand: "+domain.PlainText(d.Cause, maxError), time.Now()))
			err = b.Commit(ctx, m.put(space, key, was, keepMarks))
		}
		if errors.Is(err, domain.ErrConflict) {
			continue // it was tried or ended just now
		}
		if err == nil {
			err = log.Publish(ctx, resultMessage(c, m.Result))
		}
		if err != nil {
			return err
		}
		if err := b.Commit(ctx, finishMark(space, key, keepMarks)); err != nil && !errors.Is(err, domain.ErrConflict) {
			return err
		}
		return nil
	}
}

// deadLetterTroubles makes dead letters of the commands that the broker gave up on,
// until ctx ends.
func (w *Worker) deadLetterTroubles(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.readTroubles(ctx); err != nil && ctx.Err() == nil {
			w.text.Warn("what the broker gave up on cannot be read; it is tried again", "err", err)
			pause.For(ctx, jitter(brokerPause))
		}
	}
}

func (w *Worker) readTroubles(ctx context.Context) error {
	q, err := w.log.Work(ctx, stream.Shared{Durable: TroublesDurable, Stream: domain.WorkflowTroubles, MaxDeliver: mostDeliveries})
	if err != nil {
		return err
	}
	defer q.Close()
	for {
		list, err := q.Next(ctx, 100)
		if err != nil {
			return err
		}
		for _, d := range list {
			if err := w.deadLetterTrouble(ctx, d.Message()); err != nil {
				w.text.Warn("dead letter cannot be written; it is tried again", "err", err)
				_ = d.Nak(ctx, jitter(10*time.Second))
				continue
			}
			_ = d.Ack(ctx) // not heard: it comes again, and the dead letter is there
		}
	}
}

// deadLetterTrouble makes a dead letter of one of ours.
func (w *Worker) deadLetterTrouble(ctx context.Context, m stream.Message) error {
	var tr stream.Trouble
	effect, ours := "", false
	if json.Unmarshal(m.Data, &tr) == nil && tr.Stream == domain.WorkflowCommands {
		effect, ours = strings.CutPrefix(tr.Consumer, Durable(""))
	}
	if !ours {
		return nil
	}
	found, err := w.log.Scan(ctx, tr.Stream, nil, tr.Seq, 1)
	if err != nil {
		return err
	}
	was := stream.Message{Stream: tr.Stream, Seq: tr.Seq} // all that is known of one that is gone
	if len(found) == 1 && found[0].Seq == tr.Seq {
		was = found[0]
	}
	c, _ := parseCommand(was)
	cause := tr.Reason
	if cause == "" {
		cause = "it was given out too often and never ended"
	}
	d := newDead(was, c, cause, tr.Deliveries, time.Now())
	d.Effect = effect
	return w.deadLetter(ctx, d, c.TenantID)
}
