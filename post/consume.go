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
	"github.com/ramet-run/ramet/layout"
)

// actorText is an actor's number as a field has it.
func actorText(a domain.ActorID) string { return strconv.FormatUint(uint64(a), 10) }

// consume deals with messages that have been received.
//
// Source: seed 000, "Message flow", steps 4 and 5.
func (s *Supervisor) consume(ctx context.Context, claimed []board.Claimed) {
	batches := make([]board.Batch, len(claimed))
	ready := make([]bool, len(claimed))
	together(len(claimed), abreast, func(i int) {
		batches[i], ready[i] = s.consumeOne(ctx, &claimed[i])
	})
	s.commitReady(ctx, claimed, batches, ready, func(c *board.Claimed, err error) {
		if !errors.Is(err, domain.ErrConflict) {
			s.log.Warn("message not taken in; it comes again", "message", c.Item, "err", err)
		}
	})
}

// commitReady commits what is left to commit of claimed items, together.
func (s *Supervisor) commitReady(ctx context.Context, claimed []board.Claimed, batches []board.Batch, ready []bool, failed func(*board.Claimed, error)) {
	var list []board.Batch
	var of []*board.Claimed
	for i := range claimed {
		if ready[i] {
			list, of = append(list, batches[i]), append(of, &claimed[i])
		}
	}
	for i, err := range s.board.CommitEach(ctx, list) {
		if err != nil {
			failed(of[i], err)
		}
	}
}

// consumeOne deals with one message; ready is true where b is left to commit.
func (s *Supervisor) consumeOne(ctx context.Context, c *board.Claimed) (b board.Batch, ready bool) {
	key, err := domain.ParseMessageKey(c.Item)
	if err != nil || key.String() != c.Item {
		s.log.Warn("queued item is no message", "item", c.Item, "context", uint32(c.Space))
		s.letGo(ctx, c, nil)
		return b, false
	}
	m, err := layout.DecodeMessage(key, c.Record)
	m.ContextID = domain.TenantID(c.Space)
	if err == nil && m.Origin == "" {
		err = s.vouch(ctx, m)
	}
	b, ready, err = s.takeIn(ctx, c, key, m, err)
	if err != nil {
		s.log.Warn("message not taken in; it comes again", "message", c.Item, "context", uint32(c.Space), "err", err)
		pause(ctx, restAfter)
		s.letGo(ctx, c, func(b *board.Batch) { b.PushRight(layout.MsgIn, c.Item) })
		return b, false
	}
	return b, ready
}

// vouch checks a message that another program of this board put into msg_in by
// itself, as any that comes over a bus is checked.
//
// Errors: [domain.ErrForbidden] where it is not to be believed.
func (s *Supervisor) vouch(ctx context.Context, m *domain.Message) error {
	if err := identity.VerifyMessage(m); err != nil {
		return err
	}
	a, err := s.cfg.Registry.ActorByKey(ctx, m.Pubkey)
	if errors.Is(err, domain.ErrNotFound) || err == nil && a.ID != m.CallerID {
		return domain.Forbiddenf("message %q is signed by somebody else than actor %d", m.Key(), m.CallerID)
	} else if err != nil {
		return err
	}
	verb := identity.Read
	if m.MessageType == domain.MessageJob {
		verb = identity.Create
	}
	return s.cfg.Access.Check(ctx, identity.Ask{Actor: a.ID, Verb: verb, Tenant: m.ContextID, Object: m.Key().String()})
}

// takeIn does what a message asks for. ready is true where b is all that is
// left to commit; bad is why the message is not to be believed.
func (s *Supervisor) takeIn(ctx context.Context, c *board.Claimed, key domain.MessageKey, m *domain.Message, bad error) (b board.Batch, ready bool, err error) {
	b = s.heldBatch(c)
	now := time.Now()
	switch {
	case errors.Is(bad, domain.ErrUnavailable):
		return b, false, bad
	case bad != nil:
		s.finish(&b, key, domain.MessageError, bad.Error(), now)
		b.PushLeft(layout.Finished, key.String())
		return b, true, nil
	case m.Final():
		b.Release(c.Item)
		return b, true, nil
	case m.MessageType == domain.MessageJob:
		return b, false, s.takeJob(ctx, c, m)
	case m.MessageType == domain.MessageResult:
		to, err := s.takeResult(ctx, m, now)
		if err != nil {
			return b, false, err
		}
		m.DstActor = to
	}
	filed, err := s.filed(ctx, m)
	if err != nil {
		return b, false, err
	}
	s.finish(&b, key, domain.MessageProcessed, "", now)
	if filed {
		b.Set(key.String(), board.Field{Name: "dst_actor", Value: actorText(m.DstActor)}, board.Field{Name: layout.MessageFor, Value: actorText(m.DstActor)})
		b.PushLeft(layout.Inbox(m.DstActor), key.String())
	} else {
		b.PushLeft(layout.Finished, key.String())
	}
	return b, true, nil
}

// filed reports whether a message goes into its addressee's inbox. Letters were
// refused before where that is full; of results, of which nobody may read any,
// only as many go there as leave room for letters.
func (s *Supervisor) filed(ctx context.Context, m *domain.Message) (bool, error) {
	if m.DstActor == 0 || m.MessageType != domain.MessageResult {
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

// takeResult ends the message that a result answers, with its jobs, and
// returns who waits for it; 0 where nobody does any more.
func (s *Supervisor) takeResult(ctx context.Context, m *domain.Message, now time.Time) (domain.ActorID, error) {
	key, err := domain.ParseMessageKey(m.ReplyTo)
	if err != nil {
		return 0, nil
	}
	for range storeTries {
		asked, rec, err := s.load(ctx, space(m.ContextID), key)
		if errors.Is(err, domain.ErrNotFound) {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		waiting := asked.CallerID
		if rec.Get(layout.MessageQuiet) != "" { // a job waits for it, nobody else
			waiting = 0
		}
		switch {
		case asked.Final() && asked.Answer != m.Key().String():
			return 0, nil // too late
		case asked.Final() && rec.Get(layout.MessageEnding) != "":
			// When it came before, the message ended but not all of its jobs.
			return waiting, s.endAgain(ctx, board.Batch{Space: space(m.ContextID)}, asked)
		case asked.Final():
			return waiting, nil
		}
		logs, err := s.allLogs(ctx, m.ContextID, key, m.Logs)
		if err != nil {
			return 0, err
		}
		b := board.Batch{Space: space(m.ContextID)}
		b.Equal(key.String(), layout.MessageStatus, rec.Get(layout.MessageStatus))
		n := ended{m: asked, key: key, status: domain.MessageProcessed, node: m.Node, answer: m.Key().String(), jobs: m.Job, logs: logs, now: now}
		// Where nothing was made of what it asked for, it was not processed.
		if refused := func(j domain.Job) bool { return j.Reason == domain.ReasonRefused }; len(m.Job) > 0 && all(m.Job, refused) {
			n.status, n.text = domain.MessageError, cmp.Or(m.Job[0].Error, "nothing of it was done")
		}
		err = s.end(ctx, &b, n)
		if !errors.Is(err, domain.ErrConflict) {
			return waiting, err
		}
	}
	return 0, domain.Unavailablef("message %q changes too quickly", key)
}

// all reports whether each of a list is so.
func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(it T) bool { return !is(it) })
}
