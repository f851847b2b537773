package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
)

// This file brings jobs that ask for labels to runners that have them. Such
// jobs have queues of their own; a set names them, so that nobody looks for
// queues, and a runner claims from those whose labels it has.

// affinityLook is the pause between looks at the set, the net below the watch.
const affinityLook = 30 * time.Second

// Announce lets runners know the queues of jobs that ask for labels. It is
// called before such jobs are queued, and costs nothing for others.
//
// Errors: [domain.ErrLimit], [domain.ErrUnavailable].
func (e *Engine) Announce(ctx context.Context, jobs ...*domain.Job) error {
	for _, j := range jobs {
		if len(j.Affinity) > 0 {
			if err := e.announce(ctx, layout.SpaceOf(j.ContextID), queue.Of(j)); err != nil {
				return err
			}
		}
	}
	return nil
}

// announcement is a group of queues that a context's jobs are in.
type announcement struct {
	space board.Space
	group string
}

// announce puts the group of a queue into the set, and before that into one of
// the context, which bounds what the context puts into the other.
func (e *Engine) announce(ctx context.Context, space board.Space, list string) error {
	it := announcement{space, queue.Group(list)}
	if _, known := e.announced.Load(it); known {
		return nil
	}
	if space != 0 {
		err := e.include(ctx, space, it.group, layout.MaxAffinitiesOf)
		if errors.Is(err, domain.ErrLimit) {
			err = domain.Limitf("jobs of context %d have asked for %d kinds of affinity, which is the limit; use labels that it has used before",
				space, layout.MaxAffinitiesOf)
		}
		if err != nil {
			return err
		}
	}
	if err := e.include(ctx, 0, it.group, layout.MaxAffinities); err != nil {
		return err
	}
	e.announced.Store(it, true)
	return nil
}

// include puts a group into a space's set, which may have so many.
func (e *Engine) include(ctx context.Context, space board.Space, group string, most int) error {
	all, err := e.board.Members(ctx, space, layout.Affinities, "", most)
	if err != nil || slices.Contains(all, group) {
		return err
	}
	if len(all) >= most {
		return domain.Limitf("%d kinds of affinity are in use, which is the limit; use labels that others ask for already", len(all))
	}
	b := board.Batch{Space: space}
	return e.board.Commit(ctx, *b.Include(layout.Affinities, group))
}

// followers are the loops that keep the claimers' queues to the set: one for all
// claimers that have the labels of the node alone, if it has some, and one for each
// whose runtime has others.
func (r *Runner) followers() (loops []func(ctx context.Context)) {
	var usual []*claimer
	for _, l := range r.claimers {
		if s, ok := l.rt.(script.Selective); ok {
			loops = append(loops, func(ctx context.Context) { r.followAffinities(ctx, []*claimer{l}, s.Changed) })
		} else {
			usual = append(usual, l)
		}
	}
	if len(r.cfg.Labels) > 0 && len(usual) > 0 {
		never := func() <-chan struct{} { return nil }
		loops = append(loops, func(ctx context.Context) { r.followAffinities(ctx, usual, never) })
	}
	return append(loops, r.hear)
}

// followAffinities keeps claimers' queues to the set until ctx ends. changed is
// asked for what tells that their labels are others.
func (r *Runner) followAffinities(ctx context.Context, claimers []*claimer, changed func() <-chan struct{}) {
	for ctx.Err() == nil {
		if err := r.followOnce(ctx, claimers, changed); err != nil && ctx.Err() == nil {
			r.log.Warn("queues of jobs that ask for labels not read; those known before stay", "err", err)
			pause.For(ctx, lease.Rest)
		}
	}
}

func (r *Runner) followOnce(ctx context.Context, claimers []*claimer, changed func() <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := r.e.board.Watch(ctx, 0, layout.Affinities)
	if err != nil {
		return err
	}
	look := time.NewTicker(affinityLook)
	defer look.Stop()
	for {
		others := changed() // first: no change after this is missed
		all, err := r.e.board.Members(ctx, 0, layout.Affinities, "", layout.MaxAffinities)
		if err != nil {
			return err
		}
		for _, l := range claimers {
			l.serve(l.matching(all))
		}
		select {
		case <-others:
		case _, open := <-events:
			if !open {
				return nil
			}
		case <-look.C:
		}
	}
}

// matching are the groups of queues of the claimer's type whose labels the runner,
// or the runtime, has.
func (l *claimer) matching(all []string) []string {
	has := domain.Service{}
	if s, ok := l.rt.(script.Selective); ok {
		has.Offers = s.Offers()
	}
	var fit []string
	for _, list := range all {
		q, ok := queue.ParseLabelled(list)
		if ok && q.Type == l.typ && has.Has(l.r.cfg.Labels, q.Labels) {
			fit = append(fit, queue.Group(list))
		}
	}
	slices.Sort(fit)
	return slices.Compact(fit)
}

// serve makes the claimer claim from these groups of queues too; a claim that
// waits begins anew.
func (l *claimer) serve(groups []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(groups, l.labelled) {
		return
	}
	l.labelled = groups
	if l.interrupt != nil {
		l.interrupt()
	}
}

// queues are those of the claimer's next claim: the runner's own, then groups of
// queues, of which each is ordered by priority. Who goes first among these
// changes from claim to claim: every other time those that ask for no labels,
// else the others in turn, so that none starves for the backlog of another.
// The caller holds the mutex.
func (l *claimer) queues() []board.Queue {
	usual := layout.Queues(l.typ, l.r.cfg.ID)
	n := len(l.labelled)
	if n == 0 {
		return usual
	}
	l.claims++
	own, plain := usual[0], usual[1]
	queues := append(make([]board.Queue, 0, n+2), own)
	if l.claims%2 == 0 {
		queues = append(queues, plain)
	}
	for i := range n {
		queues = append(queues, board.Queue{Lists: queue.ByPriority(l.labelled[(l.claims/2+i)%n])})
	}
	if l.claims%2 == 1 {
		queues = append(queues, plain)
	}
	return queues
}
