package post

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// numberTries bounds the search for a free message id.
const numberTries = 20

// Send takes a message in and queues it: when it returns, it is as durable as
// the board is. The caller must have proved to be the message's caller. A
// message that is signed already is taken as it is; one that is not is
// numbered, and signed by this node if it has the caller's key. Its jobs become
// records here too, which take status and result from the other side.
//
// Sending the same signed message again is a no-op that returns the one there.
//
// Errors: [domain.ErrInvalid]; [domain.ErrForbidden] for a signature that is
// not the caller's; [domain.ErrConflict] for an id in use with other content.
//
// Source: seed 000, "Message flow", step 1.
func (e *Engine) Send(ctx context.Context, tenant domain.TenantID, m *domain.Message) (existing bool, err error) {
	return e.SendOnce(ctx, tenant, m, "")
}

// SendOnce is Send for a request that has a name of up to [layout.MaxTicket] bytes, if
// ticket is one: asked for again under it within a day, it is the same message,
// which m becomes. A signed message has its own name.
func (e *Engine) SendOnce(ctx context.Context, tenant domain.TenantID, m *domain.Message, ticket string) (existing bool, err error) {
	now := e.board.Now()
	if m.Signature != "" {
		ticket = ""
	}
	if sent, err := e.sentBefore(ctx, tenant, m, ticket); sent || err != nil {
		return sent, err
	}
	var c []copied
	if m.Signature == "" {
		m.DstContext = cmp.Or(m.DstContext, m.ContextID)
		if c, err = e.complete(ctx, tenant, m, now); err != nil {
			return false, err
		}
	}
	if err := checkMessage(m); err != nil {
		return false, err
	}
	if m.Answers() {
		return false, domain.Invalidf("message_type result with reply_to: answers are written by the node that had the work done; without reply_to it is a " +
			"message like any other")
	}
	if m.Signature == "" {
		err := e.sendUnsigned(ctx, tenant, m, c, ticket, now)
		if errors.Is(err, domain.ErrConflict) { // another of the same name may have been faster
			if sent, lookErr := e.sentBefore(ctx, tenant, m, ticket); sent || lookErr != nil {
				return sent, lookErr
			}
		}
		return false, err
	}
	if err := e.checkOwn(ctx, tenant, m); err != nil {
		return false, err
	}
	err = e.sendSigned(ctx, tenant, m, now)
	if !errors.Is(err, domain.ErrConflict) {
		return false, err
	}
	there, _, errLoad := e.load(ctx, space(tenant), m.Key())
	if errLoad == nil && there.Signature == m.Signature {
		*m = *there
		return true, nil
	}
	return false, err
}

// ticketFor is how long a request is known by its name.
const ticketFor = 24 * time.Hour

// sentBefore reports whether a request of that name was sent already, and reads its
// message into m.
//
// Errors: [domain.ErrConflict] where the message is gone.
func (e *Engine) sentBefore(ctx context.Context, tenant domain.TenantID, m *domain.Message, ticket string) (bool, error) {
	if ticket == "" {
		return false, nil
	}
	recs, err := e.board.Get(ctx, space(tenant), layout.Ticket(ticket))
	if err != nil || recs[0] == nil {
		return false, err
	}
	key, err := domain.ParseMessageKey(recs[0].Get(layout.TicketMessage))
	if err != nil {
		return false, err
	}
	there, _, err := e.load(ctx, space(tenant), key)
	if errors.Is(err, domain.ErrNotFound) {
		return false, domain.Conflictf("message %q, which this request sent, has been cleared away", key)
	} else if err != nil {
		return false, err
	}
	*m = *there
	return true, nil
}

func (e *Engine) sendSigned(ctx context.Context, tenant domain.TenantID, m *domain.Message, now time.Time) error {
	c, err := e.freeCopies(ctx, space(tenant), m, nil)
	if err != nil {
		return err
	}
	return e.put(ctx, tenant, m, c, "", now)
}

// complete fills in what a sender may leave out of a message that it does not
// sign itself. It returns what numberJobs does.
func (e *Engine) complete(ctx context.Context, tenant domain.TenantID, m *domain.Message, now time.Time) ([]copied, error) {
	m.ContextID, m.SrcContext = tenant, tenant
	m.DstContext = cmp.Or(m.DstContext, tenant)
	m.MessageFormatType = cmp.Or(m.MessageFormatType, domain.FormatText)
	m.CreatedAt = domain.At(now)
	m.ExpiresAt = expiry(m, now)
	if m.DstActor != 0 && m.DstPubkey == "" {
		a, err := e.cfg.Registry.KnownActor(ctx, m.DstActor)
		if errors.Is(err, domain.ErrNotFound) {
			return nil, domain.Invalidf("dst_actor: actor %d does not exist here; register it with its public key and address", m.DstActor)
		} else if err != nil {
			return nil, err
		}
		m.DstPubkey = a.Pubkey
		if m.DstNode == "" {
			m.DstNode = e.nodeOf(a)
		}
	}
	if m.DstNode == "" { // so that it cannot be carried to another site
		m.DstNode = e.Node()
	}
	for i := range m.Job {
		j := &m.Job[i]
		*j = asAsked(j)
		j.CallerID, j.ContextID, j.Status, j.CreatedAt, j.UpdatedAt = m.CallerID, m.DstContext, domain.JobDispatched, m.CreatedAt, m.CreatedAt
	}
	return e.numberJobs(ctx, space(tenant), m)
}

// nodeOf is the node at which an actor can be reached; "" where it is at this
// one, or at none.
func (e *Engine) nodeOf(a domain.Actor) string {
	if a.At(e.Node()) {
		return ""
	}
	for _, ad := range a.Address {
		if node := ad.Node(); node != "" {
			return node
		}
	}
	return ""
}

// expiry is until when a message is good: for as long as it may be on its way.
func expiry(m *domain.Message, now time.Time) domain.UnixTime {
	return domain.At(now.Add(m.TimeoutOf(domain.StageDelivery) + m.TimeoutOf(domain.StageAck)))
}

// sendUnsigned numbers, signs and stores a message.
func (e *Engine) sendUnsigned(ctx context.Context, tenant domain.TenantID, m *domain.Message, c []copied, ticket string, now time.Time) error {
	key, err := e.keyOf(ctx, m.CallerID)
	if err != nil {
		return err
	}
	if c, err = e.freeCopies(ctx, space(tenant), m, c); err != nil {
		return err
	}
	chosen := m.ID != 0
	for try := range numberTries {
		if !chosen {
			if m.ID, err = e.drawNumber(ctx, space(tenant), m.CallerID, try); err != nil {
				return err
			}
		}
		m.Status, m.UpdatedAt = domain.MessageDispatched, m.CreatedAt
		if err := e.signatures.Sign(key, m); err != nil {
			return err
		}
		if err := fits(m); err != nil {
			return err
		}
		err = e.put(ctx, tenant, m, c, ticket, now)
		var g *board.GuardError
		named := ticket != "" && errors.As(err, &g) && g.Guard.Key == layout.Ticket(ticket)
		if chosen || named || !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return domain.Limitf("no free message id was found; name one")
}

// drawNumber draws a message id. Messages that the same actor sent from elsewhere
// have the numbers they came with: each try goes twice as far, past a long run
// of them.
func (e *Engine) drawNumber(ctx context.Context, s board.Space, caller domain.ActorID, try int) (domain.MessageID, error) {
	n := 1 << min(try, 16)
	first, err := e.board.Next(ctx, s, layout.Seq("message", caller), n)
	if err != nil {
		return 0, err
	}
	if first+int64(n) > 1<<32 {
		return 0, domain.Limitf("actor %d has used up its message ids", caller)
	}
	return domain.MessageID(first + int64(n) - 1), nil
}

// freeNumber draws a message id that no message has now.
func (e *Engine) freeNumber(ctx context.Context, s board.Space, caller domain.ActorID) (domain.MessageID, error) {
	for try := range numberTries {
		id, err := e.drawNumber(ctx, s, caller, try)
		if err != nil {
			return 0, err
		}
		recs, err := e.board.GetFields(ctx, s, []string{layout.MessageStatus}, domain.MessageKey{Caller: caller, ID: id}.String())
		if err != nil || recs[0] == nil {
			return id, err
		}
	}
	return 0, domain.Limitf("no free message id was found for actor %d", caller)
}

// checkOwn checks a message that came signed from its sender.
func (e *Engine) checkOwn(ctx context.Context, tenant domain.TenantID, m *domain.Message) error {
	a, err := e.cfg.Registry.KnownActor(ctx, m.CallerID)
	if err != nil {
		return err
	}
	m.ContextID, m.Status, m.UpdatedAt = tenant, domain.MessageDispatched, m.CreatedAt
	switch {
	case m.ID == 0:
		return domain.Invalidf("a message that comes signed has an id: choose one that is free")
	case m.SrcContext != tenant:
		return domain.Invalidf("src_context is %d, but the message is sent from context %d", m.SrcContext, tenant)
	case a.Pubkey != m.Pubkey:
		return domain.Forbiddenf("message signed by another key than that of actor %d", m.CallerID)
	}
	if err := checkTimes(m, e.board.Now()); err != nil {
		return err
	}
	if err := fits(m); err != nil {
		return err
	}
	return e.signatures.Verify(m)
}

// checkTimes checks when a message was written and until when it is good.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func checkTimes(m *domain.Message, now time.Time) error {
	created, expires := m.CreatedAt.Time(), m.ExpiresAt.Time()
	switch {
	case m.ExpiresAt <= m.CreatedAt || expires.Sub(created) > maxGood:
		return domain.Invalidf("expires_at %d: want an instant after created_at, at most %v later", m.ExpiresAt, maxGood)
	case now.After(expires):
		return domain.Forbiddenf("message has expired at %s", expires.Format(time.RFC3339))
	case created.Sub(now) > clockLeeway:
		return domain.Forbiddenf("message was written in the future, at %s; compare the clocks of the two sites", created.Format(time.RFC3339))
	}
	return nil
}

// maxGood is the longest time for which a message is good: the receiver must
// remember it for that long.
const maxGood = 2*domain.MaxMessageTimeout*time.Second + time.Hour

// fits checks that a message can travel.
//
// Errors: [domain.ErrInvalid].
func fits(m *domain.Message) error {
	text, err := identity.SignedText(m)
	if err != nil {
		return err
	}
	if len(text) > domain.MaxSignedMessage {
		return domain.Invalidf("message has %d bytes with its jobs, the limit is %d; put large data where the other side can fetch it", len(text),
			domain.MaxSignedMessage)
	}
	return nil
}

// put stores a signed message with its jobs and queues it, under the name of its
// request, if ticket is one.
//
// Errors: [domain.ErrConflict] for an id in use; one of a [board.GuardError] for a
// name in use.
func (e *Engine) put(ctx context.Context, tenant domain.TenantID, m *domain.Message, c []copied, ticket string, now time.Time) error {
	b := board.Batch{Space: space(tenant)}
	if ticket != "" { // first: what it finds is this very message
		key := layout.Ticket(ticket)
		b.Absent(key).Set(key, board.Field{Name: layout.TicketMessage, Value: m.Key().String()}).Expire(key, ticketFor)
	}
	e.addMessage(&b, m, now)
	e.addCopies(&b, m, c, e.placeOf(ctx, m), now)
	err := e.board.Commit(ctx, b)
	var g *board.GuardError
	switch {
	case errors.As(err, &g) && ticket != "" && g.Guard.Key == layout.Ticket(ticket):
		return err
	case errors.Is(err, domain.ErrConflict):
		return domain.Conflictf("message %q, or a job of it, exists with other content; choose another id", m.Key())
	}
	return err
}

// addMessage adds to b that a message is there and to be sent.
func (e *Engine) addMessage(b *board.Batch, m *domain.Message, now time.Time) {
	key := m.Key()
	m.Status = domain.MessageDispatched
	b.Absent(key.String())
	b.Set(key.String(), layout.EncodeMessage(m)...)
	b.Live(key.String(), now)
	b.SetAlarm(layout.MessageAlarm(layout.AlarmLate, key), now.Add(m.TimeoutOf(domain.StageDelivery)))
	b.PushLeft(queue.MsgOut, key.String())
}

// peerName is the name of the site of a node, "" for our own.
func (e *Engine) peerName(ctx context.Context, node string) string {
	d, err := e.sites.look(ctx)
	if err != nil {
		return ""
	}
	return d.of[node]
}
