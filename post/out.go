package post

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// outgoing is a message on its way to a bus.
type outgoing struct {
	claimed *board.Claimed
	key     domain.MessageKey
	m       *domain.Message
	foreign bool     // another program wrote it: this is the first time we see it
	copies  []copied // then: what records there are of its jobs
	at      string   // and where they go
	text    json.RawMessage
	digest  string
	way     route
	sent    bool     // a bus, or this board, has it
	receipt *receipt // where this board answered at once
	// err is why it can never be sent; later is why it cannot be sent now.
	err, later error
	status     string // as the record has it
}

// over reports whether the message is where it was to go: its key stood in the
// queue twice.
func (o *outgoing) over() bool {
	return o.m.Final() || o.m.Status == domain.MessageAcknowledged && !o.foreign
}

// handOver sends what was claimed.
func (s *Supervisor) handOver(ctx context.Context, claimed []board.Claimed) {
	list := make([]*outgoing, 0, len(claimed))
	for i := range claimed {
		c := &claimed[i]
		key, err := domain.ParseMessageKey(c.Item)
		if err != nil || key.String() != c.Item {
			s.log.Warn("queued item is no message", "item", c.Item, "context", uint32(c.Space))
			s.letGo(ctx, c, nil)
			continue
		}
		m, err := layout.DecodeMessage(key, c.Record)
		if m.Signature == "" { // as the seeds' programs say where it is to go
			m.DstContext = cmp.Or(m.DstContext, m.ContextID)
		}
		m.ContextID = domain.TenantID(c.Space)
		list = append(list, &outgoing{claimed: c, key: key, m: m, foreign: m.Signature == "", err: err, status: c.Record.Get(layout.MessageStatus)})
	}
	together(len(list), processors(), func(i int) { s.prepare(ctx, list[i]) })
	list = s.adopt(ctx, list)
	if !s.durable(ctx, list) {
		return // their leases run out
	}
	s.send(ctx, list)
	s.keep(ctx, list)
}

// durable returns when what the list was claimed with survives a crash: a claim
// may give what is not on the disk yet. A message must not leave before: its
// sender would not know of it any more, and give its number to another.
func (s *Supervisor) durable(ctx context.Context, list []*outgoing) bool {
	i := slices.IndexFunc(list, func(o *outgoing) bool {
		return o.m.Pushes == 0 && o.err == nil && o.later == nil && !o.way.local && !o.over()
	})
	if i < 0 {
		return true
	}
	// What is answered to a commit comes after all that was committed before.
	err := s.board.Commit(ctx, s.heldBatch(list[i].claimed))
	if err != nil && !errors.Is(err, domain.ErrConflict) {
		s.log.Warn("messages not sent; they come again", "err", err)
		return false
	}
	return true
}

// prepare checks that a message may be sent, signs it where that was left to
// us, and finds its way.
func (s *Supervisor) prepare(ctx context.Context, o *outgoing) {
	if o.err != nil || o.over() {
		return
	}
	if o.foreign {
		o.err = s.sign(ctx, o)
	} else if o.m.Pushes == 0 {
		o.err = s.mayAnswer(ctx, o.m)
	}
	if o.err == nil {
		o.way, o.err = s.routeOf(ctx, o.m.DstNode, o.m.Pushes)
		if errors.Is(o.err, domain.ErrNotFound) && (o.m.Pushes > 0 || o.m.Answers()) {
			o.later, o.err = o.err, nil // it was a peer's when this began, and may be again
		}
	}
	if o.err == nil {
		o.text, o.err = identity.SignedText(o.m)
		o.digest = identity.Digest(o.m)
	}
	if o.err == nil && len(o.text) > domain.MaxSignedMessage {
		o.err = fits(o.m)
	}
	if errors.Is(o.err, domain.ErrUnavailable) || errors.Is(o.err, errKeyless) && o.m.Pushes < keylessPushes {
		o.later, o.err = o.err, nil
	}
}

// keylessPushes is how often a message that another program wrote waits for a
// node of this board that can sign for its caller: some minutes.
const keylessPushes = 10

// sign completes and signs a message that another program wrote, in the name of
// its caller, who must have the right here.
func (s *Supervisor) sign(ctx context.Context, o *outgoing) error {
	m := o.m
	if err := s.mayWrite(ctx, m); err != nil {
		return err
	}
	now := s.board.Now()
	created := m.CreatedAt
	if _, err := s.complete(ctx, m.ContextID, m, now); err != nil {
		return err
	}
	if created != 0 && created < m.CreatedAt { // as the program wrote it
		m.CreatedAt = created
	}
	if err := checkMessage(m); err != nil {
		return err
	}
	key, err := s.keyOf(ctx, m.CallerID)
	if errors.Is(err, domain.ErrInvalid) {
		return errors.Join(errKeyless, err)
	} else if err != nil {
		return err
	}
	o.at = s.placeOf(ctx, m)
	if o.copies, err = s.copiesOf(ctx, o.claimed.Space, m); err != nil {
		return err
	}
	return s.signatures.Sign(key, m)
}

// adopt writes down what was signed here, before it is sent: if it were signed
// again after a crash, that would be another message. It returns those that may
// be sent.
func (s *Supervisor) adopt(ctx context.Context, list []*outgoing) []*outgoing {
	now := s.board.Now()
	var batches []board.Batch
	var of []*outgoing
	for _, o := range list {
		if o.foreign && o.err == nil && !o.m.Final() && o.m.Signature != "" {
			batches, of = append(batches, s.adoption(o, now)), append(of, o)
		}
	}
	if len(of) == 0 {
		return list
	}
	gone := map[*outgoing]bool{}
	for i, err := range s.board.CommitEach(ctx, batches) {
		o := of[i]
		if err == nil {
			o.foreign, o.status = false, string(domain.MessageDispatched)
			continue
		}
		gone[o] = true
		if !errors.Is(err, domain.ErrConflict) {
			s.log.Warn("message not written down; it comes again", "message", o.key.String(), "err", err)
			continue
		}
		// One of its jobs has moved, say: all over again.
		s.letGo(ctx, o.claimed, func(b *board.Batch) { b.PushRight(queue.MsgOut, o.claimed.Item) })
	}
	return slices.DeleteFunc(list, func(o *outgoing) bool { return gone[o] })
}

// adoption is the commit by which a message of another program becomes one of
// ours, with the records here of its jobs.
func (s *Supervisor) adoption(o *outgoing, now time.Time) board.Batch {
	item := o.key.String()
	o.m.Status, o.m.UpdatedAt, o.m.Pushes = domain.MessageDispatched, o.m.CreatedAt, 0
	b := s.heldBatch(o.claimed)
	b.Equal(item, layout.MessageStatus, o.status).Equal(item, layout.MessageSignature, "")
	b.Set(item, layout.EncodeMessage(o.m)...)
	b.Unset(item, layout.MessagePushes)
	b.Live(item, now)
	b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, o.key), o.m.CreatedAt.Time().Add(o.m.TimeoutOf(domain.StageDelivery)))
	for _, c := range o.copies {
		if c.there {
			claimCopy(&b, c.key, o.key, o.at, now)
		}
	}
	return b
}

// mayWrite asks whether a message's caller may send it from its context.
func (s *Supervisor) mayWrite(ctx context.Context, m *domain.Message) error {
	verb := domain.VerbFinish // who executes may tell of it: step 7 of the seed
	if m.MessageType == domain.MessageJob {
		verb = domain.VerbCreate
	}
	return s.cfg.Access.Check(ctx, identity.Ask{Actor: m.CallerID, Verb: verb, Tenant: m.ContextID, Object: m.Key().String()})
}

// mayAnswer checks a message that is signed: by somebody who may, or by a node
// of ours with a result. The right may have gone since it was written.
func (s *Supervisor) mayAnswer(ctx context.Context, m *domain.Message) error {
	if m.Answers() {
		d, err := s.sites.look(ctx)
		if err != nil || d.own[m.Pubkey] {
			return err
		}
	}
	return s.mayWrite(ctx, m)
}

// send hands the messages over: those for one node together.
func (s *Supervisor) send(ctx context.Context, list []*outgoing) {
	type target struct{ node, to string }
	remote := map[target][]*outgoing{}
	var local []*outgoing
	for _, o := range list {
		switch {
		case o.err != nil || o.later != nil || o.over():
		case o.way.local:
			local = append(local, o)
		default:
			t := target{o.way.node, string(o.way.to)}
			remote[t] = append(remote[t], o)
		}
	}
	// A node that does not answer must not hold up the others, nor this lease.
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease/3)
	defer cancel()
	groups := slices.Collect(maps.Values(remote))
	together(len(groups), abreast, func(i int) { s.sendTo(ctx, groups[i]) })
	s.sendHere(ctx, local)
}

// sendTo fills parcels for one node.
func (s *Supervisor) sendTo(ctx context.Context, group []*outgoing) {
	for len(group) > 0 {
		n, size := 0, 0
		p := parcel{}
		for n < len(group) && n < maxParcelItems && size+len(group[n].text)+1 <= parcelRoom {
			p.Messages = append(p.Messages, group[n].text)
			size += len(group[n].text) + 1
			n++
		}
		if n == 0 { // alone it does not fit; fits has said so before
			group[0].err = domain.Invalidf("message is too large for a parcel")
			group = group[1:]
			continue
		}
		err := s.push(ctx, group[0].way, p)
		if ctx.Err() != nil && err != nil {
			err = domain.Unavailablef("no bus took it in time: %v", err)
		}
		for _, o := range group[:n] {
			o.sent, o.later = err == nil, err
			if errors.Is(err, domain.ErrInvalid) {
				o.err, o.later = err, nil
			}
		}
		group = group[n:]
	}
}

// push seals a parcel and gives it to a bus.
func (e *Engine) push(ctx context.Context, way route, p parcel) error {
	body, err := seal(e.cfg.Keys.Node, way.node, e.board.Now(), p)
	if err != nil {
		return err
	}
	return way.bus.Send(ctx, way.to, body)
}

// sendHere gives messages to contexts of this board.
func (s *Supervisor) sendHere(ctx context.Context, list []*outgoing) {
	if len(list) == 0 {
		return
	}
	messages := make([]*incoming, len(list))
	for i, o := range list {
		message := o.m.Signed()
		messages[i] = &incoming{m: &message, digest: o.digest, from: s.Node(), local: true}
	}
	err := s.local.receive(ctx, messages)
	for i, o := range list {
		if err != nil {
			o.later = err
			continue
		}
		o.sent = true
		r := messages[i].receipt()
		o.receipt = &r
	}
}

// keep writes what became of the messages.
func (s *Supervisor) keep(ctx context.Context, list []*outgoing) {
	now := s.board.Now()
	batches := make([]board.Batch, 0, len(list))
	kept := make([]*outgoing, 0, len(list))
	for _, o := range list {
		if o.err != nil || o.receipt != nil && o.receipt.Status == domain.MessageError {
			s.refuse(ctx, o)
			continue
		}
		b := s.heldBatch(o.claimed)
		s.result(&b, o, now)
		batches, kept = append(batches, b), append(kept, o)
	}
	for i, err := range s.board.CommitEach(ctx, batches) {
		o := kept[i]
		var g *board.GuardError
		switch {
		case err == nil:
			if o.sent && o.m.Pushes == 0 {
				s.cfg.Observer.MessageSent(o.m.MessageType)
			}
			if o.receipt != nil {
				s.acknowledged(o.m, now)
			}
			if o.later != nil {
				s.log.Debug("message not sent yet", "message", o.key.String(), "context", uint32(o.claimed.Space), "err", o.later)
			}
		case errors.As(err, &g) && g.Guard.Kind != board.GuardHeld:
			// Its receipt was faster: there is nothing left to keep.
			s.letGo(ctx, o.claimed, nil)
		case errors.Is(err, domain.ErrConflict):
		default:
			s.log.Warn("message not written down; it comes again", "message", o.key.String(), "err", err)
		}
	}
}

// result adds to b where a message stands that was sent, or has to wait.
func (s *Supervisor) result(b *board.Batch, o *outgoing, now time.Time) {
	item := o.key.String()
	if o.over() {
		b.Release(item)
		return
	}
	b.Equal(item, layout.MessageStatus, o.status)
	if o.foreign { // it could not be signed yet
		b.Set(item, board.Field{Name: layout.MessagePushes, Value: strconv.Itoa(o.m.Pushes + 1)},
			board.Field{Name: layout.MessageStatus, Value: string(domain.MessageDispatched)})
		b.Live(item, now)
		b.Release(item)
		b.SetAlarm(layout.MessageAlarm(layout.AlarmPush, o.key), now.Add(s.backoff(o.m.Pushes)))
		return
	}
	if o.m.Answers() && o.m.Pushes == 0 {
		// It may have been written long before a supervisor came.
		b.Live(item, now)
	}
	fields := []board.Field{{Name: layout.MessagePushes, Value: strconv.Itoa(o.m.Pushes + 1)}}
	if o.sent && o.m.SentMs == 0 {
		o.m.SentMs = now.UnixMilli()
		fields = append(fields, board.Field{Name: layout.MessageSentMs, Value: strconv.FormatInt(o.m.SentMs, 10)})
	}
	b.Set(item, fields...)
	b.Release(item)
	if o.receipt != nil {
		e := ended{m: o.m, key: o.key, now: now}
		s.acknowledge(b, e, s.Node())
		return
	}
	if o.m.Pushes == 0 {
		b.PushLeft(queue.MsgSent, item)
	}
	b.SetAlarm(layout.MessageAlarm(layout.AlarmPush, o.key), now.Add(s.backoff(o.m.Pushes)))
	late := o.m.CreatedAt.Time().Add(o.m.TimeoutOf(domain.StageDelivery))
	if o.m.SentMs != 0 {
		late = time.UnixMilli(o.m.SentMs).Add(o.m.TimeoutOf(domain.StageAck))
	}
	b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, o.key), late)
}

// backoff is the pause before the next push, with jitter.
func (e *Engine) backoff(pushes int) time.Duration {
	return pause.Spread(pause.Doubled(e.cfg.PushMin, e.cfg.PushMax, pushes))
}

// refuse ends a message that can never be sent, or that this board refused.
func (s *Supervisor) refuse(ctx context.Context, o *outgoing) {
	text := ""
	if o.err != nil {
		text = o.err.Error()
	} else {
		text = o.receipt.Error
	}
	e := ended{m: o.m, key: o.key, status: domain.MessageError, text: text, now: s.board.Now()}
	b := s.heldBatch(o.claimed)
	b.Equal(o.key.String(), layout.MessageStatus, o.status)
	if o.foreign {
		b.Live(o.key.String(), e.now) // so that its end takes it away again
	}
	b.Release(o.key.String())
	if err := s.end(ctx, &b, e); err != nil && !errors.Is(err, domain.ErrConflict) {
		s.log.Warn("refused message not ended; it comes again", "message", o.key.String(), "err", err)
	}
}
