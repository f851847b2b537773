package work

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// claimer takes the jobs of one script type.
type claimer struct {
	r     *Runner
	rt    script.Runtime
	typ   domain.ScriptType
	slots int
	// perContext is how many of them one context may hold; 0: see bound.
	perContext int
	info       script.Info
	ask        board.Ask
	items      *lease.Claimer[*run]
	calm       chan struct{} // a run has ended; capacity 1

	mu        sync.Mutex
	held      map[board.Space]*use // slots, by context
	passed    map[board.Space]bool // whose scripts cannot be held in far enough
	labelled  []string             // groups of queues of jobs that ask for labels
	claims    int                  // so far, while there are such
	running   int                  // runs begun and not ended
	alone     *run                 // the one that the claimer takes no others beside; see alone.go
	health    health               // see machine.go
	wary      bool                 // the last claim brought a job to be run alone
	waiting   context.Context      // of the claim under way; nil before the first
	interrupt context.CancelFunc   // ends it
}

func newClaimer(r *Runner, rt script.Runtime, info script.Info, slots int) *claimer {
	return &claimer{
		r: r, rt: rt, typ: rt.Type(), info: info, slots: slots, perContext: r.cfg.PerContext[rt.Type()], held: map[board.Space]*use{},
		passed: map[board.Space]bool{}, calm: make(chan struct{}, 1),
		ask: board.Ask{
			Owner: r.cfg.Owner,
			Lease: r.cfg.Lease,
			Wait:  lease.Wait,
			Mark: []board.Field{
				{Name: layout.JobStatus, Value: string(domain.JobStarted)},
				{Name: layout.JobRunnerID, Value: strconv.FormatUint(uint64(r.cfg.ID), 10)},
			},
			Stamp: []string{layout.JobStartedMs, layout.JobUpdatedAt},
			Skip:  board.Match{Field: layout.JobStatus, Values: []string{string(domain.JobFinished), string(domain.JobError)}},
			// Those that a foreign program has queued say only when they were made.
			Aging: board.Aging{Step: r.cfg.Aging, Fields: []string{layout.JobQueuedMs, layout.JobCreatedAt}},
			// A crash that takes the claim back takes along what was done on the board
			// since, and nothing else.
			Firm: info.Outside || !info.InProcess,
		},
	}
}

// Room is how many of the free slots the next claim may fill.
func (l *claimer) Room(free int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.alone != nil, l.health.resting, l.health.trial != nil:
		return 0
	case l.wary, l.health.why != nil:
		return min(free, 1) // the next one may be to run alone too
	}
	return free
}

// Claim waits for up to n jobs, or until the claimer is to look elsewhere too.
func (l *claimer) Claim(ctx context.Context, n int) ([]board.Claimed, error) {
	passed := l.stillPassed(ctx)
	l.mu.Lock()
	if l.waiting == nil || l.waiting.Err() != nil {
		l.waiting, l.interrupt = context.WithCancel(ctx)
	}
	waiting, ask := l.waiting, l.ask
	if ask.Except = passed; len(passed) > 0 {
		ask.Wait = isolationLook
	}
	ask.Max, ask.Queues = l.share(&ask, n), l.queues()
	if ask.Max > 0 {
		ask.Charges = l.charges(time.Now())
	}
	l.mu.Unlock()
	if ask.Max == 0 {
		pause.For(ctx, lease.Rest)
		return nil, nil
	}
	claimed, err := l.r.e.board.Claim(waiting, ask)
	if err != nil {
		claimed = nil // nothing is begun of a claim that failed: others may have it
	}
	l.mu.Lock()
	l.occupy(claimed)
	l.mu.Unlock()
	if waiting.Err() != nil && ctx.Err() == nil {
		err = nil // interrupted: what a cancelled claim does not return it has not taken
	}
	return claimed, err
}

// Open waits until the claimer may claim; false is that ctx has ended.
func (l *claimer) Open(ctx context.Context) bool {
	for ctx.Err() == nil {
		changed := l.r.e.bans.Changed() // first: no change after this is missed
		may, turned := l.r.may()
		var rested <-chan time.Time
		if _, banned := l.r.e.bans.Claims(l.typ); may && !banned {
			rest := l.mended(ctx)
			if rest == 0 {
				return true
			}
			rested = time.After(rest)
		}
		select {
		case <-rested:
		case <-changed:
		case <-turned:
		case <-ctx.Done():
		}
	}
	return false
}

// Work is a run of a job.
func (l *claimer) Work(c board.Claimed) *run {
	x := &run{r: l.r, claimer: l}
	x.key, x.foreignItem = jobItem(c.Item)
	return x
}

// Begin is told of jobs that were claimed together.
func (l *claimer) Begin(list []*run) {
	l.r.e.cfg.Observer.JobsClaimed(l.typ, len(list))
	l.singleOut(list)
	l.r.e.stopLate(list)
}

// Failed tells people that the board could not be asked.
func (l *claimer) Failed(err error) {
	l.r.log.Warn("no work taken", "script_type", string(l.typ), "err", err)
}
