package webhook

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/start"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/secret"
)

const (
	// noteEvery is how often what started nothing is written, for each webhook at each node.
	noteEvery = 10 * time.Second
	// settleTime bounds how long a node that stops writes down what it has gathered.
	settleTime = 5 * time.Second
	// maxError bounds an error that is kept, in bytes.
	maxError = 300
)

// errUnproven is what everybody gets who cannot prove to have the secret.
var errUnproven = domain.Unauthenticatedf("there is no such webhook, or the signature is wrong")

// TooOften is an [domain.ErrExhausted]: the webhook takes no more now.
type TooOften struct {
	PerMinute int
	After     time.Duration
}

func (e *TooOften) Error() string {
	return "this webhook takes " + strconv.Itoa(e.PerMinute) + " deliveries a minute; come again later"
}
func (e *TooOften) Unwrap() error { return domain.ErrExhausted }

// Asked is a delivery that was let in.
type Asked struct {
	Webhook *domain.Webhook
	// Request is the flow that it asks for; nil: `when` did not hold, and there is none.
	Request *flow.Request
	// Existing says that its flow was there already. Who makes flows sets it.
	Existing bool

	refused string // the outcome, where [Store.Receive] refused it and the error's kind does not say it
}

// Receive looks at a delivery: whether it is proven, whether there is room for it, and which
// flow it asks for. Whoever cannot prove it is told nothing, and in the same time. What became
// of a delivery is told with [Store.Settle].
//
// Errors: [domain.ErrUnauthenticated] for strangers, with the webhook in Asked where there is
// one; those who are none get *[TooOften], [domain.ErrUnavailable] while it is paused,
// [domain.ErrInvalid] where an expression fails.
func (s *Store) Receive(ctx context.Context, tenant domain.TenantID, name string, d Delivery) (Asked, error) {
	now := time.Now()
	w, sealed, err := s.read(ctx, tenant, name)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return Asked{}, s.pretend(ctx, d, now)
	} else if err != nil {
		return Asked{}, err
	}
	a := Asked{Webhook: w}
	secrets, err := s.open(ctx, tenant, name, sealed)
	if ctx.Err() == nil { // else the sender went away, and nothing is known
		s.tellOpens(place{tenant, name}, err)
	}
	if err != nil {
		if lost(err) {
			a.refused = Locked
		}
		return a, &unchecked{domain.Unavailablef("this node cannot check signatures now")}
	}
	id, err := schemes[w.SchemeOr()].verify(d, secrets, now)
	if err != nil {
		a.refused = Unsigned
		if errors.As(err, new(*tooOld)) {
			a.refused = TooOld
		}
		return a, &unproven{err.Error()}
	}
	if after, ok := s.take(place{tenant, name}, id, w.Rate(), now); !ok {
		a.refused = RateReached
		return a, &TooOften{w.Rate(), after}
	}
	if w.Paused {
		a.refused = Paused
		return a, domain.Unavailablef("webhook %q is paused", name)
	}
	params, holds, err := wants(ctx, w, d, id)
	if err != nil || !holds {
		return a, err
	}
	a.Request = &flow.Request{Caller: w.CallerID, Blueprint: w.Blueprint, Version: w.Version, Trigger: start.Trigger(name, id), Params: params,
		Also: func(b *board.Batch, flow domain.FlowID) { s.started(b, w, flow) }}
	return a, nil
}

// tellOpens logs that the secret of a webhook cannot be read, and that it can again: once each, as
// anybody may send as often as he likes. How many deliveries were refused for it the metrics say.
func (s *Store) tellOpens(p place, err error) {
	s.mu.Lock()
	told := s.unread[p]
	switch {
	case err == nil:
		delete(s.unread, p)
	case !told && len(s.unread) >= maxPlaces:
		clear(s.unread)
		fallthrough
	case !told:
		s.unread[p] = true
	}
	s.mu.Unlock()
	switch {
	case err != nil && !told:
		s.log.Error("the secret of a webhook cannot be read; deliveries are refused", "context", uint32(p.tenant), "webhook", p.name, "err", err)
	case err == nil && told:
		s.log.Info("the secret of a webhook can be read again", "context", uint32(p.tenant), "webhook", p.name)
	}
}

// unproven says to the webhook's owners what is wrong, and nothing to others.
type unproven struct{ why string }

func (e *unproven) Error() string { return errUnproven.Error() }
func (e *unproven) Unwrap() error { return domain.ErrUnauthenticated }

// unchecked is of a delivery that nobody could look at: who sent it is not known.
type unchecked struct{ error }

func (e *unchecked) Unwrap() error { return e.error }

// Opens finds out whether the secret of a webhook can be opened here.
//
// Errors: [domain.ErrNotFound], and those of the keys.
func (s *Store) Opens(ctx context.Context, tenant domain.TenantID, name string) error {
	_, sealed, err := s.read(ctx, tenant, name)
	if err == nil {
		_, err = s.open(ctx, tenant, name, sealed)
	}
	return err
}

// open opens the secrets of a webhook: two, as the decoy stands in for what there is not, and for
// the one before where that is lost, as its key may be: the one that was set since is right.
func (s *Store) open(ctx context.Context, tenant domain.TenantID, name string, sealed sealedPair) ([]string, error) {
	var secrets []string
	for i, one := range []secret.Sealed{sealed.now, sealed.old} {
		text, err := "", error(nil)
		if one.Text != "" {
			text, err = s.seal.Open(ctx, sealedAt(tenant, name), one)
		}
		if one.Text == "" || i > 0 && lost(err) {
			text, err = s.standIn(ctx)
			if errors.Is(err, domain.ErrConflict) {
				continue // nothing can be sealed here, as on a board that was moved; what was can be opened
			}
		}
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, text)
	}
	return secrets, nil
}

// lost reports whether what was sealed cannot be opened here, today or tomorrow.
func lost(err error) bool {
	return errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrInvalid)
}

// standIn opens the decoy.
func (s *Store) standIn(ctx context.Context) (string, error) {
	decoy, err := s.decoy(ctx)
	if err != nil {
		return "", err
	}
	return s.seal.Open(ctx, decoyAt, decoy)
}

// decoyAt is the place of the decoy, which is no webhook's.
const decoyAt = "ramet webhook: decoy"

// decoy is a secret that nobody knows, sealed as those of webhooks are.
func (s *Store) decoy(ctx context.Context) (secret.Sealed, error) {
	s.mu.Lock()
	made := s.made
	s.mu.Unlock()
	if made.Text != "" {
		return made, nil
	}
	made, err := s.seal.Seal(ctx, decoyAt, standardSecret())
	if err == nil {
		s.mu.Lock()
		s.made = made
		s.mu.Unlock()
	}
	return made, err
}

// pretend does for a webhook that there is not what is done for others.
func (s *Store) pretend(ctx context.Context, d Delivery, now time.Time) error {
	if secrets, err := s.open(ctx, 0, "", sealedPair{}); err == nil { // else no webhook can be made here, either
		_, _ = schemes[guessed(d)].verify(d, secrets, now) // it is not right
	}
	return errUnproven
}

// guessed is the scheme of a delivery by what it brings.
func guessed(d Delivery) domain.WebhookScheme {
	switch {
	case d.Header.Get("X-Hub-Signature-256") != "":
		return domain.WebhookGitHub
	case d.Header.Get("Stripe-Signature") != "":
		return domain.WebhookStripe
	case d.Header.Get("X-Gitlab-Token") != "" || d.Header.Get("Authorization") != "":
		return domain.WebhookToken
	}
	return domain.WebhookStandard
}

// started writes down a flow with the commit that makes it. A webhook that was deleted
// or changed meanwhile makes none.
func (s *Store) started(b *board.Batch, w *domain.Webhook, flow domain.FlowID) {
	key := layout.Webhook(w.Name)
	layout.WebhookGuard(b, w).Add(key, layout.WebhookStarted, 1).Set(key,
		board.Field{Name: layout.WebhookLastMs, Value: strconv.FormatInt(s.board.Now().UnixMilli(), 10)},
		board.Field{Name: layout.WebhookLastFlow, Value: strconv.FormatUint(uint64(flow), 10)})
}

// note is what started nothing and is not written yet.
type note struct {
	ignored, refused int64
	why              string
	atMs             int64
	provenMs         int64 // of the last whose sender has the secret
	written          time.Time
}

// Settle counts a delivery, and writes down what became of one that made no flow, or gathers it. Call it after
// the answer: who sends must not see by its time whether there is such a webhook.
func (s *Store) Settle(ctx context.Context, tenant domain.TenantID, a Asked, err error) {
	s.count(tenant, a, err)
	if a.Webhook == nil || err == nil && a.Request != nil {
		return
	}
	now := s.board.Now()
	if n := s.gather(place{tenant, a.Webhook.Name}, err, now); n != nil {
		s.record(ctx, tenant, a.Webhook, n)
	}
}

// Run waits until ctx ends, and writes down what is gathered then: who asks after the next start sees no
// smaller numbers than before. What comes later is written at once.
func (s *Store) Run(ctx context.Context) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	s.mu.Lock()
	s.ending = true
	left := s.notes
	s.notes = map[place]*note{}
	s.mu.Unlock()
	for p, n := range left {
		if n.ignored+n.refused == 0 {
			continue
		}
		w, _, err := s.read(ctx, p.tenant, p.name)
		if err == nil {
			s.record(ctx, p.tenant, w, n)
		} else if !errors.Is(err, domain.ErrNotFound) { // one that is gone needs no numbers
			s.log.Warn("what a webhook refused is not written down", "context", uint32(p.tenant), "webhook", p.name, "err", err)
		}
	}
	return nil
}

// record writes down what became of deliveries that made no flow.
func (s *Store) record(ctx context.Context, tenant domain.TenantID, w *domain.Webhook, n *note) {
	key := layout.Webhook(w.Name)
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	layout.WebhookGuard(&b, w)
	if n.ignored > 0 {
		b.Add(key, layout.WebhookIgnored, n.ignored)
	}
	if n.refused > 0 {
		b.Add(key, layout.WebhookRefused, n.refused)
		if n.provenMs != 0 || !w.State.ProvenRefused() { // strangers do not hide what is wrong for others
			b.Set(key, board.Field{Name: layout.WebhookRefusedMs, Value: strconv.FormatInt(n.atMs, 10)},
				board.Field{Name: layout.WebhookLastError, Value: n.why})
		}
		if n.provenMs != 0 {
			b.Set(key, board.Field{Name: layout.WebhookProvenMs, Value: strconv.FormatInt(n.provenMs, 10)})
		}
	}
	if err := s.board.Commit(ctx, b); err != nil && !errors.Is(err, domain.ErrConflict) { // of one that has changed the next one is written
		s.log.Warn("what a webhook refused is not written down", "context", uint32(tenant), "webhook", w.Name, "err", err)
	}
}

// gather adds a delivery that started nothing, and returns what is to be written; nil: nothing yet.
func (s *Store) gather(p place, err error, now time.Time) *note {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.notes[p]
	if n == nil {
		if len(s.notes) >= maxPlaces {
			clear(s.notes)
		}
		n = &note{}
		s.notes[p] = n
	}
	if err == nil {
		n.ignored++
	} else {
		n.refused++
		why, proven := err.Error(), !errors.As(err, new(*unchecked))
		if u := (*unproven)(nil); errors.As(err, &u) {
			why, proven = u.why, false
		}
		if proven {
			n.provenMs = now.UnixMilli()
		}
		if proven || n.provenMs == 0 {
			n.why, n.atMs = board.Excerpt(why, maxError), now.UnixMilli()
		}
	}
	if !s.ending && now.Sub(n.written).Abs() < noteEvery {
		return nil
	}
	out := *n
	*n = note{written: now}
	return &out
}

// add adds to a webhook what is gathered here and not written yet.
func (s *Store) add(tenant domain.TenantID, w *domain.Webhook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.notes[place{tenant, w.Name}]
	if n == nil {
		return
	}
	w.State.Ignored += n.ignored
	if w.State.Refused += n.refused; n.refused > 0 && (n.provenMs != 0 || !w.State.ProvenRefused()) {
		w.State.RefusedMs, w.State.LastError, w.State.ProvenMs = n.atMs, n.why, max(n.provenMs, w.State.ProvenMs)
	}
}
