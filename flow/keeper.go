package flow

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

const (
	// keeperClaim is how many flows are claimed at once.
	keeperClaim = 128
	// keeperRounds is how many flows are looked after at once: most of it is
	// waiting for commits, which the board gathers.
	keeperRounds = 64
)

// Keep looks after flows until ctx ends: it claims those that something has
// happened to, and lets them go as far as they can. Any number of nodes may.
// owner is written on leases; it must differ for each life of a process.
func (e *Engine) Keep(ctx context.Context, owner string) {
	k := keeper{Engine: e, owner: owner, slots: make(chan struct{}, keeperRounds)}
	defer k.rounds.Wait()
	ask := board.Ask{Queues: []board.Queue{{Lists: []string{queue.Keeper}}}, Owner: owner, Lease: k.cfg.Lease, Wait: lease.Wait}
	lease.Take(ctx, func(ctx context.Context) ([]board.Claimed, error) {
		// Who is busy takes no more than it can begin: what waits in its hands has had
		// its context's turn, and others' comes after it.
		ask.Max = min(keeperClaim, max(1, 2*(keeperRounds-len(k.slots))))
		return e.board.Claim(ctx, ask)
	}, func(claimed []board.Claimed) { k.start(ctx, claimed) }, func(err error) { e.log.Warn("no flow taken", "err", err) })
}

// keeper looks after flows in this process.
type keeper struct {
	*Engine
	owner  string
	rounds sync.WaitGroup
	slots  chan struct{}
}

// start looks after what was claimed. Plain flows whose last job has ended are
// the most, and cost least together.
func (k *keeper) start(ctx context.Context, claimed []board.Claimed) {
	var ends []*tending
	for _, c := range claimed {
		id, ok := layout.ParseFlowState(c.Item)
		if !ok {
			k.log.Warn("queued item is no flow", "item", c.Item, "context", uint32(c.Space))
			k.drop(ctx, c)
			continue
		}
		t := &tending{keeper: k, ref: ref{c.Space, id}, claimed: c, until: time.Now().Add(k.cfg.Lease)}
		if t.mayEnd() {
			ends = append(ends, t)
			continue
		}
		k.tend(ctx, t)
	}
	if len(ends) > 0 {
		k.slots <- struct{}{}
		k.rounds.Go(func() {
			defer func() { <-k.slots }()
			for _, t := range k.endTogether(context.WithoutCancel(ctx), ends) {
				t.run(context.WithoutCancel(ctx))
			}
		})
	}
}

// tend looks after one flow. What is begun outlives ctx: it is short.
func (k *keeper) tend(ctx context.Context, t *tending) {
	k.slots <- struct{}{}
	k.rounds.Go(func() {
		defer func() { <-k.slots }()
		t.run(context.WithoutCancel(ctx))
	})
}

// drop lets go of what is no flow.
func (k *keeper) drop(ctx context.Context, c board.Claimed) {
	b := board.Batch{Space: c.Space}
	b.Held(c.Item, k.owner, c.Token).Delete(c.Item)
	_ = k.board.Commit(ctx, b)
}

// tending is one flow in a keeper's hands.
type tending struct {
	*keeper
	ref     ref
	claimed board.Claimed
	until   time.Time // when the lease runs out
	// asked are jobs that were told to end under this lease.
	asked      map[domain.JobID]bool
	askedFlows map[domain.FlowID]bool
}

func (t *tending) tenant() domain.TenantID { return domain.TenantID(t.ref.space) }

// batch begins a commit that only the holder of the lease can make.
func (t *tending) batch() board.Batch {
	b := board.Batch{Space: t.ref.space}
	b.Held(t.claimed.Item, t.owner, t.claimed.Token)
	return b
}

// maxTendings bounds the rounds under one lease: a flow that always has more to
// do goes to the end of the queue, so that others have their turn.
const maxTendings = 200

// errDone says that the flow is out of our hands.
var errDone = errors.New("let go of")

// run does rounds until there is nothing left to do. Whatever goes wrong, the
// lease runs out, and somebody looks again.
func (t *tending) run(ctx context.Context) {
	refused := 0
	for range maxTendings {
		err := t.round(ctx)
		switch {
		case err == nil:
			continue
		case errors.Is(err, errDone):
			return
		case lease.IsGone(err):
			return // somebody else has it now
		case errors.Is(err, domain.ErrConflict):
			continue
		case errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrLimit):
			if refused++; refused < maxRefused {
				pause.For(ctx, lease.Rest)
				continue
			}
			t.giveUp(ctx, err)
			return
		default:
			t.log.Warn("flow not looked after; it comes again", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", err)
			pause.For(ctx, lease.Rest)
			t.back(ctx)
			return
		}
	}
	t.back(ctx)
}

// maxRefused is how often a flow is tried whose state cannot be read, or whose
// next commit the board refuses for what is in it.
const maxRefused = 3

// giveUp ends a flow that nothing would ever move, with the reason: it is better
// seen than tried for ever. Its jobs are left as they are; a retry goes on from
// what is known.
func (t *tending) giveUp(ctx context.Context, cause error) {
	t.log.Error("flow given up", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", cause)
	f, err := t.load(ctx, t.ref)
	if errors.Is(err, domain.ErrNotFound) || f.Final() {
		t.back(ctx)
		return
	}
	s := &seen{flow: f, now: t.board.Now()}
	if err := t.lookParent(ctx, s); err != nil {
		t.back(ctx)
		return
	}
	st, there, unread := t.readState(ctx, t.ref)
	s.Line, s.LineMax = st.Line, st.LineMax
	b := t.batch()
	b.Equal(f.Key(), layout.FlowStatus, string(f.Status))
	var plan *Plan
	if f.Hash != "" {
		plan, _ = t.plan(ctx, t.ref, f.Hash) // it may be what cannot be read
	}
	why := cut("its keeper could not go on: " + cause.Error())
	if err := t.endFlow(ctx, &b, plan, s, domain.FlowStuck, why, f.Result, nil); err != nil {
		t.log.Error("hook of a flow not called", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", err)
	}
	if f.Stepped && there && unread == nil {
		b.Set(f.Key(), layout.IDsField(layout.FlowJobs, jobsOf(len(st.Steps), whole(st.Steps).At))) // they go with it
	}
	b.Set(layout.FlowWaits(t.ref.id), board.Field{Name: layout.WaitsArmed, Value: "1"})
	b.Release(t.claimed.Item)
	if err := t.board.Commit(ctx, b); err != nil {
		t.back(ctx)
		return
	}
	t.told(s)
}

// back puts the flow at the end of the queue.
func (t *tending) back(ctx context.Context) {
	b := t.batch()
	b.Release(t.claimed.Item).PushLeft(queue.Keeper, t.claimed.Item)
	// Where this fails the lease runs out.
	_ = t.board.Commit(ctx, b)
}

// renew sees to it that the lease lasts for another while.
//
// Errors: errDone when it is lost.
func (t *tending) renew(ctx context.Context) error {
	if time.Until(t.until) > t.cfg.Lease*2/3 {
		return nil
	}
	asked := time.Now()
	answers, err := t.board.Extend(ctx, t.owner, t.cfg.Lease, []board.Held{{Space: t.ref.space, Item: t.claimed.Item, Token: t.claimed.Token}})
	if err != nil {
		return err
	}
	if answers[0] == board.Lost {
		return errDone
	}
	t.until = asked.Add(t.cfg.Lease)
	return nil
}

// RecoverLease brings back a flow whose keeper was lost. It reports whether the
// lease is one of a flow.
func (e *Engine) RecoverLease(ctx context.Context, l board.Lease) (ours bool, err error) {
	if _, ours = layout.ParseFlowState(l.Item); !ours {
		return false, nil
	}
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token).Release(l.Item).PushRight(queue.Keeper, l.Item)
	err = e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		err = nil
	}
	return true, err
}
