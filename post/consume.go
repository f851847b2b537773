package post

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

// actorText is an actor's number as a field has it.
func actorText(a domain.ActorID) string { return strconv.FormatUint(uint64(a), 10) }

// consume deals with messages that have been received.
//
// Source: seed 000, "Message flow", steps 4 and 5.
func (s *Supervisor) consume(ctx context.Context, claimed []board.Claimed) {
	s.consumeAll(ctx, claimed, true)
}

// consumeAll deals with claimed messages. What a message asks for is one commit
// where it can be, and atOnce is true; those of all messages go together. Where
// something has moved meanwhile, or the board refuses it, the message is taken in
// step by step.
func (s *Supervisor) consumeAll(ctx context.Context, claimed []board.Claimed, atOnce bool) {
	rests := make([]rest, len(claimed))
	together(len(claimed), abreast, func(i int) {
		rests[i] = s.consumeOne(ctx, &claimed[i], atOnce)
	})
	var again []board.Claimed
	s.commitRests(ctx, claimed, rests, func(c *board.Claimed, err error) {
		var g *board.GuardError
		switch {
		case atOnce && (errors.Is(err, domain.ErrInvalid) || errors.As(err, &g) && g.Guard.Kind != board.GuardHeld):
			again = append(again, *c)
		case !errors.Is(err, domain.ErrConflict):
			s.log.Warn("message not taken in; it comes again", "message", c.Item, "err", err)
		}
	})
	if len(again) > 0 {
		s.consumeAll(ctx, again, false)
	}
}

// rest is what is left to do with a claimed item: to commit, and to do after that.
type rest struct {
	batch board.Batch
	ready bool   // there is something to commit
	after func() // nil: nothing
}

// commitRests commits what is left to commit of claimed items, together.
func (s *Supervisor) commitRests(ctx context.Context, claimed []board.Claimed, rests []rest, failed func(*board.Claimed, error)) {
	var batches []board.Batch
	var of []int
	for i := range rests {
		if rests[i].ready {
			batches, of = append(batches, rests[i].batch), append(of, i)
		}
	}
	if len(batches) == 0 {
		return
	}
	for n, err := range s.board.CommitEach(ctx, batches) {
		i := of[n]
		switch {
		case err != nil:
			failed(&claimed[i], err)
		case rests[i].after != nil:
			rests[i].after()
		}
	}
}

// consumeOne deals with one message.
func (s *Supervisor) consumeOne(ctx context.Context, c *board.Claimed, atOnce bool) rest {
	key, err := domain.ParseMessageKey(c.Item)
	if err != nil || key.String() != c.Item {
		s.log.Warn("queued item is no message", "item", c.Item, "context", uint32(c.Space))
		s.letGo(ctx, c, nil)
		return rest{}
	}
	m, err := layout.DecodeMessage(key, c.Record)
	m.ContextID = domain.TenantID(c.Space)
	if err == nil && m.Origin == "" {
		err = s.vouch(ctx, m)
	}
	r, err := s.takeIn(ctx, c, key, m, err, atOnce)
	if err != nil {
		s.log.Warn("message not taken in; it comes again", "message", c.Item, "context", uint32(c.Space), "err", err)
		pause.For(ctx, lease.Rest)
		s.letGo(ctx, c, func(b *board.Batch) { b.PushRight(queue.MsgIn, c.Item) })
		return rest{}
	}
	return r
}

// vouch checks a message that another program of this board put into msg_in by
// itself, as any that comes over a bus is checked.
//
// Errors: [domain.ErrForbidden] where it is not to be believed.
func (s *Supervisor) vouch(ctx context.Context, m *domain.Message) error {
	if err := s.signatures.Verify(m); err != nil {
		return err
	}
	a, err := s.cfg.Registry.ActorByKey(ctx, m.Pubkey)
	if errors.Is(err, domain.ErrNotFound) || err == nil && a.ID != m.CallerID {
		return domain.Forbiddenf("message %q is signed by somebody else than actor %d", m.Key(), m.CallerID)
	} else if err != nil {
		return err
	}
	verb := domain.VerbRead
	if m.MessageType == domain.MessageJob {
		verb = domain.VerbCreate
	}
	return s.cfg.Access.Check(ctx, identity.Ask{Actor: a.ID, Verb: verb, Tenant: m.ContextID, Object: m.Key().String()})
}

// takeIn does what a message asks for, but for the rest; bad is why the message is
// not to be believed.
func (s *Supervisor) takeIn(ctx context.Context, c *board.Claimed, key domain.MessageKey, m *domain.Message, bad error, atOnce bool) (rest, error) {
	b := s.heldBatch(c)
	now := s.board.Now()
	switch {
	case errors.Is(bad, domain.ErrUnavailable):
		return rest{}, bad
	case bad != nil:
		s.finish(&b, key, domain.MessageError, bad.Error(), now)
		b.PushLeft(layout.Finished, key.String())
		return rest{batch: b, ready: true}, nil
	case m.Final():
		b.Release(c.Item)
		return rest{batch: b, ready: true}, nil
	case m.MessageType == domain.MessageJob:
		return s.takeJob(ctx, c, m, atOnce)
	}
	r := rest{batch: b, ready: true}
	if m.Answers() {
		if err := s.takeResult(ctx, &r, m, now, atOnce); err != nil {
			return rest{}, err
		}
	}
	filed, err := s.filed(ctx, m)
	if err != nil {
		return rest{}, err
	}
	s.finish(&r.batch, key, domain.MessageProcessed, "", now)
	if filed {
		r.batch.Set(key.String(), board.Field{Name: "dst_actor", Value: actorText(m.DstActor)},
			board.Field{Name: layout.MessageFor, Value: actorText(m.DstActor)})
		r.batch.PushLeft(layout.Inbox(m.DstActor), key.String())
	} else {
		r.batch.PushLeft(layout.Finished, key.String())
	}
	return r, nil
}

// filed reports whether a message goes into its addressee's inbox. Chat and mail
// were refused before where that is full; of answers, of which nobody may read any,
// only as many go there as leave room for chat and mail.
func (s *Supervisor) filed(ctx context.Context, m *domain.Message) (bool, error) {
	if m.DstActor == 0 || !m.Answers() {
		return m.DstActor != 0, nil
	}
	n, err := s.board.Len(ctx, space(m.ContextID), layout.Inbox(m.DstActor))
	return err == nil && n[0] < maxResults, err
}

// finish adds to b that a received message has been dealt with.
func (s *Supervisor) finish(b *board.Batch, key domain.MessageKey, status domain.MessageStatus, text string, now time.Time) {
	item := key.String()
	b.Set(item,
		board.Field{Name: layout.MessageStatus, Value: string(status)},
		board.Field{Name: layout.MessageUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)},
		board.Field{Name: layout.MessageEndedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)})
	if text != "" {
		b.Set(item, board.Field{Name: layout.MessageError, Value: text})
	}
	b.Settle(item)
	b.Release(item)
}

// takeResult ends the message that a result answers, with its jobs: in the commit
// that r has, where atOnce is true and that can be. The result is addressed to who
// waits for it; 0 where nobody does any more.
func (s *Supervisor) takeResult(ctx context.Context, r *rest, m *domain.Message, now time.Time, atOnce bool) error {
	m.DstActor = 0
	key, err := domain.ParseMessageKey(m.ReplyTo)
	if err != nil {
		return nil
	}
	for range storeTries {
		asked, rec, err := s.load(ctx, space(m.ContextID), key)
		if errors.Is(err, domain.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if rec.Get(layout.MessageQuiet) == "" { // else a job waits for it, nobody else
			m.DstActor = asked.CallerID
		}
		switch {
		case asked.Final() && asked.Answer != m.Key().String():
			m.DstActor = 0 // too late
			return nil
		case asked.Final() && rec.Get(layout.MessageEnding) != "":
			// When it came before, the message ended but not all of its jobs.
			return s.endAgain(ctx, board.Batch{Space: space(m.ContextID)}, asked)
		case asked.Final():
			return nil
		}
		n, err := s.endBy(ctx, m, asked, now)
		if err != nil {
			return err
		}
		if atOnce {
			if added, err := s.endInOne(ctx, r, n, rec); added || err != nil {
				return err
			}
		}
		b := board.Batch{Space: space(m.ContextID)}
		b.Equal(key.String(), layout.MessageStatus, rec.Get(layout.MessageStatus))
		if err = s.end(ctx, &b, n); !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return domain.Unavailablef("message %q changes too quickly", key)
}

// endBy is how a result ends the message that it answers.
func (s *Supervisor) endBy(ctx context.Context, m, asked *domain.Message, now time.Time) (ended, error) {
	logs, err := s.allLogs(ctx, m.ContextID, asked.Key(), m.Logs)
	n := ended{m: asked, key: asked.Key(), status: domain.MessageProcessed, node: m.Node, answer: m.Key().String(), jobs: m.Job, logs: logs, now: now}
	// Where nothing was made of what it asked for, it was not processed.
	if refused := func(j domain.Job) bool { return j.Reason == domain.ReasonRefused }; len(m.Job) > 0 && all(m.Job, refused) {
		n.status, n.text = domain.MessageError, cmp.Or(m.Job[0].Error, "nothing of it was done")
	}
	return n, err
}

// endInOne adds the end of a message of ours, whose record is rec, and of its jobs
// to a commit. It is false, and r as it was, where that takes more than one.
func (s *Supervisor) endInOne(ctx context.Context, r *rest, n ended, rec board.Record) (bool, error) {
	b := board.Batch{Space: r.batch.Space, Guards: slices.Clone(r.batch.Guards), Ops: slices.Clone(r.batch.Ops)}
	b.Equal(n.key.String(), layout.MessageStatus, rec.Get(layout.MessageStatus))
	s.closeWhole(&b, n)
	added, err := s.addJobEnds(ctx, &b, n)
	if !added || err != nil || !b.Fits(s.board.Limits()) {
		return false, err
	}
	r.batch, r.after = b, func() { s.ended(n) }
	return true, nil
}

// all reports whether each of a list is so.
func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(it T) bool { return !is(it) })
}
