package post

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// Causes of refusals, for counting.
const (
	causeForged    = "forged" // also altered
	causeExpired   = "expired"
	causeOversized = "oversized"
	causeMalformed = "malformed"
	causeUnknown   = "unknown_sender"
	causeNode      = "wrong_node"
	causeRight     = "no_right"
	causeFull      = "inbox_full"
	causeLate      = "late_answer"
	causeReplayed  = "replayed" // not refused, but counted: it is there already
	causeOther     = "other"
)

// Refusal is a message or a parcel that was not taken.
type Refusal struct {
	Cause   string
	Text    string
	Tenant  domain.TenantID // it was for; 0 where that is not known
	Actor   domain.ActorID  // who sent it, by its number here; 0 where that is not known
	Node    string          // that it came from, "" where that is not known
	Message string          // its key there
}

// refusal is the error of a message that is not taken.
type refusal struct {
	cause string
	err   error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(cause string, err error) error { return &refusal{cause, err} }

// incoming is a message that came.
type incoming struct {
	m      *domain.Message
	digest string
	from   string // the node
	local  bool   // from another context of this board

	sender domain.Actor
	space  board.Space
	again  bool  // it was here before
	err    error // why it is refused
}

// receipt says what became of it.
func (i *incoming) receipt() receipt {
	r := receipt{Digest: i.digest, Status: domain.MessageAcknowledged, Context: i.m.SrcContext, Key: i.m.Key().String()}
	if i.err != nil {
		r.Status, r.Error = domain.MessageError, i.err.Error()
	}
	return r
}

// inflow takes messages in.
type inflow struct{ e *Engine }

// receive takes messages in, each for itself: refused ones get their err. The
// error is for what must be tried again.
//
// Source: seed 000, "Message flow", step 4.
func (f *inflow) receive(ctx context.Context, messages []*incoming) error {
	now := f.e.board.Now()
	errs := make([]error, len(messages))
	together(len(messages), processors(), func(i int) {
		err := f.check(ctx, messages[i], now)
		var r *refusal
		if errors.As(err, &r) && !errors.Is(err, domain.ErrInvalid) {
			err = f.decide(ctx, messages[i], r)
		}
		switch {
		case errors.As(err, &r):
			f.refused(messages[i], r)
		case passing(err):
			errs[i] = err
		case err != nil:
			f.refused(messages[i], &refusal{causeOther, err})
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	good := slices.DeleteFunc(slices.Clone(messages), func(i *incoming) bool { return i.err != nil || i.again })
	return f.store(ctx, good, now)
}

// decide is the answer to a message that is refused now. What was decided when it
// came first stays so, whatever rights came or went since: it may have been
// taken, and its receipt got lost. And what is refused now stays refused, so that
// another copy of it that is still on its way is not taken after its sender was
// told so. nil: it was taken.
func (f *inflow) decide(ctx context.Context, i *incoming, r *refusal) error {
	if f.e.signatures.Verify(i.m) != nil {
		return r
	}
	_, err := f.e.cfg.Registry.Tenant(ctx, i.m.DstContext)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return r // nothing is written into a context that does not exist
	} else if err != nil {
		return err
	}
	// What was decided before is answered only once that is durable: so the board
	// is not just asked.
	seen := layout.Seen(i.digest)
	b := board.Batch{Space: space(i.m.DstContext)}
	b.Absent(seen)
	if stays(r.cause) && f.e.board.Now().Before(i.m.ExpiresAt.Time()) { // later it is never good any more
		b.Set(seen, board.Field{Name: layout.SeenRefused, Value: board.Excerpt(r.Error(), 300)})
		b.Expire(seen, min(rememberFor(i.m), refusedFor))
	}
	if err := f.e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
		return cmp.Or[error](err, r)
	}
	if was, err := f.before(ctx, i); err != nil || was == nil {
		return cmp.Or[error](err, r)
	} else if was.Get(layout.SeenRefused) != "" {
		return r
	}
	f.replayed(i)
	return nil
}

// stays says whether a message that was refused for a cause is refused from then
// on. Not where the cause is who carried it: another site that has seen a message
// could bring it first, and the one that its sender brings would be refused.
func stays(cause string) bool {
	switch cause {
	case causeRight, causeFull, causeLate, causeUnknown, causeExpired:
		return true
	}
	return false
}

// before is the mark of what was decided of a message before; nil where nothing
// was.
func (f *inflow) before(ctx context.Context, i *incoming) (board.Record, error) {
	recs, err := f.e.board.Get(ctx, space(i.m.DstContext), layout.Seen(i.digest))
	if err != nil {
		return nil, err
	}
	return recs[0], nil
}

// replayed notes that a message is here already.
func (f *inflow) replayed(i *incoming) {
	i.again = true
	f.e.cfg.Observer.MessageRefused(causeReplayed)
}

// refusedFor is how long a refusal stays decided: as long as copies of a message
// may well be under way, and no longer, for whoever has no right here can have
// any number of messages refused.
const refusedFor = 10 * time.Minute

// rememberFor is how long a message can come again: at most for as long as it is good, from now on. It is by the
// message's own instants: a clock that is ahead, and is set right before the message has expired, would have it
// forgotten too soon, and taken twice.
func rememberFor(m *domain.Message) time.Duration {
	return m.ExpiresAt.Time().Sub(m.CreatedAt.Time()) + 2*clockLeeway
}

// refused notes that a message is not taken.
func (f *inflow) refused(i *incoming, r *refusal) {
	i.err = r.err
	f.e.cfg.Observer.MessageRefused(r.cause)
	f.e.cfg.Refused(Refusal{Cause: r.cause, Text: r.err.Error(), Tenant: domain.TenantID(i.space), Actor: i.sender.ID, Node: i.from, Message: i.m.Key().String()})
}

// check decides whether a message is taken: what costs least comes first.
func (f *inflow) check(ctx context.Context, i *incoming, now time.Time) error {
	m := i.m
	if err := checkMessage(m); err != nil {
		return refuse(causeMalformed, err)
	}
	if m.ID == 0 || m.SrcContext == 0 || m.DstContext == 0 {
		return refuse(causeMalformed, domain.Invalidf("message without id, src_context or dst_context"))
	}
	if err := checkTimes(m, now); err != nil {
		return refuse(causeExpired, err)
	}
	// Also of this board's own: other programs may write on it.
	if err := f.e.signatures.Verify(m); err != nil {
		return refuse(causeForged, err)
	}
	d, err := f.e.sites.look(ctx)
	if err != nil {
		return err
	}
	if m.DstNode == "" && !i.local {
		return refuse(causeNode, domain.Forbiddenf("message names no node that it is for"))
	}
	if m.DstNode != "" && !d.own[m.DstNode] {
		return refuse(causeNode, domain.Forbiddenf("message is for node %s, which is not of this site", m.DstNode))
	}
	if err := f.known(ctx, i, d); err != nil {
		return err
	}
	i.space = space(m.DstContext)
	return f.may(ctx, i, d)
}

// known looks up the sender: the key is the identity, whatever number it has
// at its own site.
func (f *inflow) known(ctx context.Context, i *incoming, d directory) (err error) {
	i.sender, err = f.e.cfg.Registry.ActorByKey(ctx, i.m.Pubkey)
	switch {
	case errors.Is(err, domain.ErrNotFound), errors.Is(err, domain.ErrInvalid):
		return refuse(causeUnknown, domain.Forbiddenf("no actor here has the key %s", i.m.Pubkey))
	case err != nil:
		return err
	case i.local || i.sender.At(i.from):
		return nil
	}
	return refuse(causeNode, domain.Forbiddenf("actor %d is not known to be at the node this came from, %s", i.sender.ID, i.from))
}

// may asks whether the sender has the right here: to have work done for a job,
// any role for chat and mail to somebody. An answer is right where it answers.
func (f *inflow) may(ctx context.Context, i *incoming, d directory) error {
	verb, what := domain.VerbRead, "write to anybody"
	switch {
	case i.m.MessageType == domain.MessageJob:
		verb, what = domain.VerbCreate, "have work done"
	case i.m.Answers():
		return f.answers(ctx, i, d)
	}
	err := f.e.cfg.Access.Check(ctx, identity.Ask{Actor: i.sender.ID, Verb: verb, Tenant: i.m.DstContext, Object: "message"})
	if errors.Is(err, domain.ErrForbidden) {
		return refuse(causeRight, domain.Forbiddenf("its sender may not %s in context %d, or there is no such context", what, i.m.DstContext))
	} else if err != nil || i.m.MessageType == domain.MessageJob {
		return err
	}
	return f.addressee(ctx, i)
}

// addressee finds who the message is for.
func (f *inflow) addressee(ctx context.Context, i *incoming) error {
	a, err := f.e.cfg.Registry.ActorByKey(ctx, i.m.DstPubkey)
	switch {
	case errors.Is(err, domain.ErrNotFound), errors.Is(err, domain.ErrInvalid):
		return refuse(causeUnknown, domain.Forbiddenf("no actor here has the addressee's key %q", i.m.DstPubkey))
	case err != nil:
		return err
	}
	may, err := f.e.cfg.Access.Sees(ctx, identity.Proof{Actor: a.ID}, i.m.DstContext)
	if err != nil {
		return err
	} else if !may {
		return refuse(causeUnknown, domain.Forbiddenf("the addressee has no role in context %d, and could not read it", i.m.DstContext))
	}
	i.m.DstActor = a.ID
	n, err := f.e.board.Len(ctx, space(i.m.DstContext), layout.Inbox(a.ID))
	if err == nil && n[0] >= MaxInbox {
		return refuse(causeFull, domain.Exhaustedf("the inbox of the addressee is full"))
	}
	return err
}

// answers checks that a result answers a message of ours that waits for it,
// and comes from the site that has it.
func (f *inflow) answers(ctx context.Context, i *incoming, d directory) error {
	key, err := domain.ParseMessageKey(i.m.ReplyTo)
	if err != nil {
		return refuse(causeMalformed, err)
	}
	asked, _, err := f.e.loadLine(ctx, space(i.m.DstContext), key)
	if errors.Is(err, domain.ErrNotFound) {
		return refuse(causeOther, nobodyWaits(i.m))
	} else if err != nil {
		return err
	}
	node := cmp.Or(asked.DstNode, f.e.Node())
	if asked.Origin != "" || asked.MessageType != domain.MessageJob || identity.Digest(asked) != i.m.ReplyDigest || !d.same(node, i.from) ||
		!d.same(i.m.Pubkey, i.from) {
		return refuse(causeForged, nobodyWaits(i.m))
	}
	if asked.Final() {
		return refuse(causeLate, nobodyWaits(i.m))
	}
	return nil
}

// nobodyWaits is one text for all answers that are not taken: it does not tell
// which messages there are.
func nobodyWaits(m *domain.Message) error {
	return domain.Forbiddenf("nobody here waits for that answer to %s", m.ReplyTo)
}

// storeTries bounds how often messages are stored again under other ids.
const storeTries = 20

// store writes messages, each with its entry in msg_in and the mark of having
// seen it, in one commit.
func (f *inflow) store(ctx context.Context, messages []*incoming, now time.Time) error {
	for try := 0; len(messages) > 0; try++ {
		if try == storeTries {
			return domain.Unavailablef("%d messages could not be stored", len(messages))
		}
		batches := make([]board.Batch, len(messages))
		for n, i := range messages {
			id := i.m.ID
			if try > 0 { // the sender's own number is taken here
				var err error
				if id, err = f.e.drawNumber(ctx, i.space, i.sender.ID, try-1); err != nil {
					return err
				}
			}
			batches[n] = f.batch(i, id, now)
		}
		var again []*incoming
		for n, err := range f.e.board.CommitEach(ctx, batches) {
			i := messages[n]
			var g *board.GuardError
			switch {
			case err == nil:
				f.e.cfg.Observer.MessageReceived(i.m.MessageType)
			case errors.As(err, &g) && g.Guard.Key == layout.Seen(i.digest):
				was, err := f.before(ctx, i)
				if err != nil {
					return err
				}
				if text := was.Get(layout.SeenRefused); text != "" {
					f.refused(i, &refusal{causeRight, domain.Forbiddenf("%s", text)})
				} else {
					f.replayed(i)
				}
			case errors.Is(err, domain.ErrConflict):
				again = append(again, i)
			case passing(err):
				return err
			default:
				f.refused(i, &refusal{causeOversized, err})
			}
		}
		messages = again
	}
	return nil
}

// batch is the commit by which a message is here.
func (f *inflow) batch(i *incoming, id domain.MessageID, now time.Time) board.Batch {
	m := *i.m
	m.Origin = m.Key().String()
	m.CallerID, m.ID, m.ContextID = i.sender.ID, id, m.DstContext
	m.Status, m.UpdatedAt, m.Node = domain.MessageAcknowledged, domain.At(now), i.from
	key, seen := m.Key().String(), layout.Seen(i.digest)
	b := board.Batch{Space: i.space}
	b.Absent(seen).Absent(key)
	b.Set(key, layout.EncodeMessage(&m)...)
	b.Live(key, now)
	b.PushLeft(queue.MsgIn, key)
	b.Set(seen, board.Field{Name: layout.SeenMessage, Value: key})
	b.Expire(seen, rememberFor(&m))
	return b
}

// open deals with a parcel: the messages in it, the receipts, the notes. The
// error is for what must be tried again: that the board is away. What it can
// never take is dropped, each thing for itself, or the parcel would come for ever.
func (s *Supervisor) open(ctx context.Context, p bus.Parcel) error {
	now := s.board.Now()
	in, err := unseal(p.Body, s.Node(), now)
	if err != nil {
		cause := causeMalformed
		switch {
		case len(p.Body) > bus.MaxParcel:
			cause = causeOversized
		case errors.Is(err, domain.ErrForbidden):
			cause = causeForged
		}
		s.dropParcel(cause, "", err)
		return nil
	}
	d, err := s.sites.look(ctx)
	if err != nil {
		return err
	}
	if d.of[in.From] == "" && !d.own[in.From] {
		s.dropParcel(causeNode, in.From, domain.Forbiddenf("parcel of node %s, which is of no peer", in.From))
		return nil
	}
	if err := s.takeReceipts(ctx, in, p.Body, d, now); err != nil {
		return err
	}
	if err := s.takeNotes(ctx, in, d); err != nil {
		return err
	}
	return s.takeMessages(ctx, in)
}

// room returns an error where there is no room for messages, and others than answers are
// among them: their parcel comes again.
func (s *Supervisor) room(messages []*incoming) error {
	if slices.ContainsFunc(messages, func(i *incoming) bool { return !i.m.Answers() }) {
		return s.cfg.Room()
	}
	return nil
}

// maxProof bounds the parcel that is kept as proof of a refusal, in bytes.
const maxProof = 64 << 10

// passing reports whether an error may be gone at the next try.
func passing(err error) bool {
	return errors.Is(err, domain.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// dropParcel notes that a parcel was not taken. Nobody is answered: its sender
// is not known.
func (s *Supervisor) dropParcel(cause, node string, err error) {
	s.cfg.Observer.MessageRefused(cause)
	s.cfg.Refused(Refusal{Cause: cause, Text: err.Error(), Node: node})
}

// takeMessages takes the messages of a parcel in and sends the receipts: one
// parcel for those that were taken, and one for the refusals, which the other
// side keeps as proof.
func (s *Supervisor) takeMessages(ctx context.Context, in parcel) error {
	if len(in.Messages) == 0 {
		return nil
	}
	messages := make([]*incoming, 0, len(in.Messages))
	for _, text := range in.Messages {
		i, err := readMessage(text, in.From)
		if err != nil {
			s.dropParcel(causeMalformed, in.From, err)
			continue
		}
		messages = append(messages, i)
	}
	if err := s.room(messages); err != nil {
		return err
	}
	if err := s.local.receive(ctx, messages); err != nil {
		return err
	}
	var taken, refused []receipt
	for _, i := range messages {
		if r := i.receipt(); i.err == nil {
			taken = append(taken, r)
		} else {
			refused = append(refused, r)
		}
	}
	s.reply(ctx, in.From, taken, refused)
	return nil
}

// readMessage reads a message of a parcel.
func readMessage(text json.RawMessage, from string) (*incoming, error) {
	if len(text) > domain.MaxSignedMessage {
		return nil, domain.Invalidf("message of %d bytes, the limit is %d", len(text), domain.MaxSignedMessage)
	}
	var m domain.Message
	if err := intake.Read(text, &m, intake.Limits{Bytes: domain.MaxSignedMessage}); err != nil {
		return nil, domain.Invalidf("message cannot be read: %v", err)
	}
	// What its sender cannot say of it is not taken over.
	m.Origin, m.Node = "", ""
	message := m.Signed()
	return &incoming{m: &message, from: from, digest: identity.Digest(&message)}, nil
}

// takeReceipts notes what became of messages of ours.
func (s *Supervisor) takeReceipts(ctx context.Context, in parcel, body []byte, d directory, now time.Time) error {
	about := make([]ref, 0, len(in.Receipts))
	receipts := make([]receipt, 0, len(in.Receipts))
	for _, r := range in.Receipts {
		if key, err := domain.ParseMessageKey(r.Key); err == nil {
			about, receipts = append(about, ref{space(r.Context), key.String()}), append(receipts, r)
		}
	}
	recs, err := s.fieldsOf(ctx, signedLine, about)
	if err != nil {
		return err
	}
	var batches []board.Batch
	var of []*domain.Message
	for i, r := range receipts {
		if recs[i] == nil {
			continue // its sender has cleared it away
		}
		key, _ := domain.ParseMessageKey(about[i].key) // as above
		m, err := layout.DecodeMessage(key, recs[i])
		if err != nil || m.Origin != "" || identity.Digest(m) != r.Digest || !d.same(cmp.Or(m.DstNode, s.Node()), in.From) {
			s.dropParcel(causeForged, in.From, domain.Forbiddenf("receipt for %s, which was not sent there", r.Key))
			continue
		}
		if m.Status != domain.MessageDispatched {
			continue
		}
		b := board.Batch{Space: about[i].space}
		b.Equal(about[i].key, layout.MessageStatus, recs[i].Get(layout.MessageStatus))
		n := ended{m: m, key: key, now: now, node: in.From}
		if r.Status == domain.MessageError {
			if err := s.takeRefusal(ctx, b, n, r, body, d); passing(err) {
				return err
			}
			continue
		}
		s.acknowledge(&b, n, in.From)
		batches, of = append(batches, b), append(of, m)
	}
	if len(batches) == 0 {
		return nil
	}
	for i, err := range s.board.CommitEach(ctx, batches) {
		switch {
		case err == nil:
			s.acknowledged(of[i], now)
		case passing(err):
			return err
		}
	}
	return nil
}

// takeRefusal ends a message of ours that was refused, and keeps the parcel that
// says so.
func (s *Supervisor) takeRefusal(ctx context.Context, b board.Batch, n ended, r receipt, body []byte, d directory) (err error) {
	if n.m, _, err = s.load(ctx, b.Space, n.key); err != nil { // its jobs end with it
		return err
	}
	n.status, n.text = domain.MessageError, "refused by "+d.siteOf(n.node)+": "+board.Excerpt(r.Error, maxErrorText)
	if len(body) <= maxProof {
		n.receipt = fmt.Sprintf("%x", body)
	}
	return s.end(ctx, &b, n)
}
