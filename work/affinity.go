package work

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file brings jobs that ask for labels to runners that have them. Such
// jobs have queues of their own; a set names them, so that nobody looks for
// queues, and a runner claims from those whose labels it has.

// affinityLook is the pause between looks at the set, the net below the watch.
const affinityLook = 30 * time.Second

// Announce lets runners know the queues of jobs that ask for labels. It is
// called before such jobs are queued, and costs nothing for others.
//
// Errors: [domain.ErrExhausted], [domain.ErrUnavailable].
func (e *Engine) Announce(ctx context.Context, jobs ...*domain.Job) error {
	for _, j := range jobs {
		if len(j.Affinity) > 0 {
			if err := e.announce(ctx, layout.Queue(j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) announce(ctx context.Context, queue string) error {
	if _, known := e.announced.Load(queue); known {
		return nil
	}
	all, err := e.board.Members(ctx, 0, layout.Affinities, "", layout.MaxAffinities)
	if err != nil {
		return err
	}
	if !slices.Contains(all, queue) {
		if len(all) >= layout.MaxAffinities {
			return domain.Exhaustedf("%d kinds of affinity are in use, which is the limit; use labels that others ask for already", len(all))
		}
		var b board.Batch
		if err := e.board.Commit(ctx, *b.Include(layout.Affinities, queue)); err != nil {
			return err
		}
	}
	e.announced.Store(queue, true)
	return nil
}

// followAffinities keeps the lanes' queues to the set until ctx ends.
func (r *Runner) followAffinities(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.followOnce(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("queues of jobs that ask for labels not read; those known before stay", "err", err)
			pause(ctx, claimPause)
		}
	}
}

func (r *Runner) followOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := r.e.board.Watch(ctx, 0, layout.Affinities)
	if err != nil {
		return err
	}
	look := time.NewTicker(affinityLook)
	defer look.Stop()
	for {
		all, err := r.e.board.Members(ctx, 0, layout.Affinities, "", layout.MaxAffinities)
		if err != nil {
			return err
		}
		for _, l := range r.lanes {
			l.serve(r.matching(l.typ, all))
		}
		select {
		case _, open := <-events:
			if !open {
				return nil
			}
		case <-look.C:
		}
	}
}

// matching are the queues of a type whose labels the runner has, those of
// higher priority first.
func (r *Runner) matching(t domain.ScriptType, all []string) []string {
	var fit []string
	priority := map[string]int{}
	for _, list := range all {
		q, ok := layout.ParseAffinityQueue(list)
		if ok && q.Type == t && r.cfg.Labels.Has(q.Labels) {
			fit = append(fit, list)
			priority[list] = q.Priority
		}
	}
	slices.SortStableFunc(fit, func(a, b string) int { return cmp.Compare(priority[b], priority[a]) })
	return fit
}

// serve makes the lane claim from these queues too, after the runner's own and
// before those of the type; a claim that waits begins anew.
func (l *lane) serve(lists []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(lists, l.labelled) {
		return
	}
	l.labelled = lists
	usual := layout.Queues(l.typ, l.r.cfg.ID)
	queues := append(make([]board.Queue, 0, len(usual)+len(lists)), usual[0])
	for _, list := range lists {
		queues = append(queues, board.Queue{Lists: []string{list}})
	}
	l.ask.Queues = append(queues, usual[1:]...)
	if l.interrupt != nil {
		l.interrupt()
	}
}
