package effect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

const (
	// brokerTime bounds what is told to the broker of one command: after that it
	// finds out by itself.
	brokerTime = 5 * time.Second
	// longestAfter bounds how long a target may put us off.
	longestAfter = time.Hour
)

// run is a command in flight: what is known of it, and what is done with it.
type run struct {
	consumer *consumer
	d        stream.Delivery
	m        stream.Message

	command domain.EffectCommand
	tenant  domain.TenantID
	space   board.Space
	key     string // of its mark
	mark    Mark   // as the board has it, but for a first attempt
	known   bool   // its end is; the consumer's lock guards it

	// telling has an entry while the broker is told something, which may take
	// long. It guards what follows.
	telling chan struct{}
	over    bool // it is in flight no more

	// heard guards what follows: no call may wait for what is told.
	heard sync.Mutex
	kept  time.Time // when the broker knew last that it is in flight
	lost  bool      // the broker once heard nothing for so long that another may be at it
}

// run brings a command as far as it goes now: to its result, which the finisher
// publishes, or back to the stream. ctx ends when nothing new is begun, calls
// ends what was begun.
func (t *run) run(ctx, calls context.Context) {
	e := t.consumer.e
	switch {
	case t.mark.ended():
		t.finish(t.mark)
		return
	case !e.Allows(t.tenant):
		t.decide(domain.ResultFailed, attempt{err: "effect " + e.Name + " is not for this context"})
		return
	case t.mark.Attempts >= e.Attempts && !e.Kind.OnlyWaits():
		// Had it failed, it would have ended: the node was lost, and nobody knows
		// what became of it.
		t.decide(domain.ResultTimedOut, attempt{err: "the node was lost during the last attempt" + before(t.mark)})
		return
	}
	if err := t.consumer.target.enter(ctx); err != nil {
		t.again(0)
		return
	}
	a, tried := t.attempt(calls)
	t.consumer.target.leave()
	if tried {
		t.judge(calls, a)
	}
}

// before tells of the error before, where there is one.
func before(m Mark) string {
	if m.Error == "" {
		return ""
	}
	return "; the error before: " + m.Error
}

// attempt makes one if the breaker lets it through. Where it does not come to
// one, the run has ended.
func (t *run) attempt(calls context.Context) (a attempt, tried bool) {
	w, e, target := t.consumer.w, t.consumer.e, t.consumer.target
	if t.mayBeOthers() {
		t.letGo()
		return a, false
	}
	if !target.breaker.TryAcquirePermit() {
		t.blocked()
		return a, false
	}
	if t.d.Deliveries() > 1 && !e.Kind.OnlyWaits() {
		// Counted beforehand: a command that ends its node each time must not come
		// for ever. The first attempt is not: it would cost every command a commit.
		// Nor is one that only waits: a job may be queued for longer than any node
		// lives, and the next attempt finds it again.
		m := t.mark
		m.Attempts++
		if err := t.write(calls, m); err != nil {
			target.judge(unknown)
			t.turnDown(calls, err)
			return a, false
		}
	} else {
		t.mark.Attempts++
	}
	if t.mayBeOthers() { // the node may have been stopped while it wrote
		target.judge(unknown)
		t.letGo()
		return a, false
	}
	w.cfg.Observer.EffectBegun(e.Name, e.Target)
	a = e.try(calls, t.call(), t.consumer.secrets)
	w.cfg.Observer.EffectTried(e.Name, e.Target, string(a.outcome), a.took)
	w.traced(e, t.call(), a)
	target.judge(a.verdict())
	return a, true
}

// call is what the provider is given.
func (t *run) call() Call {
	return Call{Tenant: t.tenant, TenantName: t.command.TenantID, CommandID: t.command.CommandID, Effect: t.consumer.e.Name,
		Payload: t.command.Payload, Metadata: t.command.Metadata, Attempt: t.mark.Attempts}
}

// judge decides what comes after an attempt.
func (t *run) judge(calls context.Context, a attempt) {
	w, e := t.consumer.w, t.consumer.e
	w.callsOf(e.Name).tried(a)
	if a.stack != "" {
		w.text.Error("provider of an effect panics", "effect", e.Name, "command", t.command.CommandID, "err", a.err, "stack", a.stack)
	}
	switch a.outcome {
	case domain.EffectDone:
		t.decide(domain.ResultSucceeded, a)
		return
	case domain.EffectDenied:
		t.decide(domain.ResultFailed, a)
		return
	case domain.EffectAbandoned:
		t.again(0)
		return
	}
	m := t.mark
	if m.Attempts >= e.Attempts || t.givenUp() {
		typ := domain.ResultFailed
		if a.outcome == domain.EffectTimedOut {
			typ = domain.ResultTimedOut
		}
		t.decide(typ, a)
		return
	}
	pause := max(e.backoff(m.Attempts), min(a.after, longestAfter))
	m.Error, m.NextMs = a.err, w.board.Now().Add(pause).UnixMilli()
	if err := t.write(calls, m); err != nil && t.mark.ended() {
		t.finish(t.mark)
		return
	} // Else it is not counted, which is no harm.
	w.text.Info("attempt of an effect failed; it is tried again", "effect", e.Name, "command", t.command.CommandID,
		"attempt", m.Attempts, "of", e.Attempts, "in", pause.Round(time.Millisecond), "err", a.err)
	t.again(pause)
}

// givenUp says whether the first failure is too long ago.
func (t *run) givenUp() bool {
	return t.mark.BeganMs != 0 && t.consumer.w.board.Now().Sub(time.UnixMilli(t.mark.BeganMs)) >= t.consumer.e.GiveUp
}

// blocked deals with a command that the breaker did not let through.
func (t *run) blocked() {
	if t.givenUp() {
		t.decide(domain.ResultFailed, attempt{err: fmt.Sprintf("given up after %s: %s does not answer%s", t.consumer.e.GiveUp, t.consumer.e.Target, before(t.mark))})
		return
	}
	t.again(t.consumer.target.wait())
}

// errEnded is why a mark is not written: another worker has ended the command.
var errEnded = domain.Conflictf("another worker has ended the command")

// write puts a mark of a command that is tried in place of what the board has.
//
// Errors: [errEnded], with the mark then; those of the board.
func (t *run) write(ctx context.Context, m Mark) error {
	m.Status = MarkTrying
	if now := t.consumer.w.board.Now().UnixMilli(); m.BeganMs == 0 || m.BeganMs > now { // by a clock that was ahead
		m.BeganMs = now
	}
	for {
		err := t.consumer.w.board.Commit(ctx, m.put(t.space, t.key, t.mark.Status, t.consumer.w.cfg.Keep))
		if err == nil {
			t.mark = m
			return nil
		}
		if !errors.Is(err, domain.ErrConflict) {
			return err
		}
		if err := t.reread(ctx); err != nil {
			return err
		}
		if t.mark.ended() {
			return errEnded
		}
		m.Attempts = max(m.Attempts, t.mark.Attempts)
	}
}

// reread reads the mark anew: another worker has been at the command.
func (t *run) reread(ctx context.Context) error {
	recs, err := t.consumer.w.board.Get(ctx, t.space, t.key)
	if err != nil {
		return err
	}
	t.mark = decodeMark(recs[0])
	return nil
}

// decide ends the command with a result.
func (t *run) decide(typ domain.ResultType, a attempt) {
	m := t.mark
	m.Status = MarkDecided
	m.Result = encodeResult(result(t.command, typ, m.Attempts, a.answer, a.err, time.Now()))
	m.ends = typ
	t.finish(m)
}

// finish hands a command over whose end is known.
func (t *run) finish(m Mark) {
	t.consumer.knows(t)
	t.consumer.w.finisher.ended <- &ending{t, m}
}

// turnDown deals with a command that cannot be begun.
func (t *run) turnDown(ctx context.Context, cause error) {
	switch {
	case errors.Is(cause, errEnded):
		t.finish(t.mark)
	case errors.Is(cause, domain.ErrInvalid):
		t.die(ctx, cause)
	default:
		t.consumer.w.text.Warn("command cannot be begun; it comes again", "effect", t.consumer.e.Name, "command", t.command.CommandID, "err", cause)
		t.again(t.soon())
	}
}

// soon is the pause after something went wrong that is not the target's fault.
func (t *run) soon() time.Duration {
	return jitter(min(max(t.consumer.wrong(), time.Second), time.Minute))
}

// parse reads the command and finds its context.
//
// Errors: [domain.ErrInvalid] for what is malformed, others for what may be well later.
func (t *run) parse(ctx context.Context) (err error) {
	if t.command, err = parseCommand(t.m); err != nil {
		return err
	}
	t.tenant, err = t.consumer.w.cfg.Tenant(ctx, t.command.TenantID)
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Invalidf("there is no context %q", t.command.TenantID)
	}
	if err != nil {
		return err
	}
	t.space, t.key = layout.SpaceOf(t.tenant), keys(t.command).Done(t.command.CommandID)
	return nil
}

// again gives the command back to the stream, to come again after a pause.
func (t *run) again(pause time.Duration) {
	t.tell(func(ctx context.Context) error { return t.d.Nak(ctx, pause) })
}

// letGo ends the run without a word: the broker gives the command to whom it
// likes after our silence. What we said might count for the delivery that another
// has by now, and bring the command to a third.
func (t *run) letGo() {
	t.tell(func(context.Context) error { return nil })
}

// tell tells the broker what becomes of the command, which is in flight no more
// then. What the broker does not hear it finds out by our silence.
func (t *run) tell(say func(context.Context) error) {
	t.telling <- struct{}{}
	t.over = true
	ctx, cancel := context.WithTimeout(context.Background(), brokerTime)
	err := say(ctx)
	cancel()
	<-t.telling
	if err != nil {
		t.consumer.w.text.Debug("broker was not told of a command", "effect", t.consumer.e.Name, "command", t.command.CommandID, "err", err)
	}
	t.consumer.w.inFlight.remove(t)
	t.consumer.gone(t)
}

// out says whether it is in flight no more.
func (t *run) out() bool {
	t.telling <- struct{}{}
	defer func() { <-t.telling }()
	return t.over
}
