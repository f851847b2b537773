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
	"github.com/ramet-run/ramet/script"
)

// lane serves one script type: a number of slots and a loop that fills them.
type lane struct {
	r     *Runner
	rt    script.Runtime
	typ   domain.ScriptType
	slots int
	// perContext is how many of them one context may hold; 0: see bound.
	perContext int
	info       script.Info
	ask        board.Ask
	freed      chan struct{} // a slot became free; capacity 1
	calm       chan struct{} // a run has ended; capacity 1
	// idle hands runs to goroutines that have ended one: their stacks have
	// grown already. Closed by claimLoop.
	idle chan *run

	mu        sync.Mutex
	free      int
	held      map[board.Space]*use // slots, by context
	passed    map[board.Space]bool // whose scripts cannot be held in far enough
	labelled  []string             // groups of queues of jobs that ask for labels
	claims    int                  // so far, while there are such
	running   int                  // runs begun and not ended
	alone     *run                 // the one that the lane takes no others beside; see alone.go
	wary      bool                 // the last claim brought a job to be run alone
	waiting   context.Context      // of the claim under way; nil before the first
	interrupt context.CancelFunc   // ends it
}

// claimWait is how long one Claim waits. It only bounds the wait: a push wakes
// it at once.
const claimWait = time.Minute

func newLane(r *Runner, rt script.Runtime, info script.Info, slots int) *lane {
	return &lane{
		r: r, rt: rt, typ: rt.Type(), info: info, slots: slots, perContext: r.cfg.PerContext[rt.Type()], held: map[board.Space]*use{},
		passed: map[board.Space]bool{}, free: slots, freed: make(chan struct{}, 1), calm: make(chan struct{}, 1), idle: make(chan *run),
		ask: board.Ask{
			Owner: r.cfg.Owner,
			Lease: r.cfg.Lease,
			Wait:  claimWait,
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

// takeSlots takes all free slots, up to what one claim may bring.
func (l *lane) takeSlots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(l.free, maxClaim)
	switch {
	case l.alone != nil:
		n = 0
	case l.wary:
		n = min(n, 1) // the next one may be to run alone too
	}
	l.free -= n
	return n
}

func (l *lane) giveSlots(n int) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	l.free += n
	l.mu.Unlock()
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// maxClaim is how many jobs one claim takes at the most: enough to make its
// cost small, few enough that other nodes get their share.
const maxClaim = 256

// claimPause is how long a lane rests after the board could not be asked.
const claimPause = 500 * time.Millisecond

// claimLoop fills the lane's slots until ctx ends. What it starts runs under
// hard.
func (l *lane) claimLoop(ctx, hard context.Context, runs *sync.WaitGroup) {
	defer close(l.idle)
	for l.open(ctx) {
		n := l.takeSlots()
		if n == 0 {
			select {
			case <-l.freed:
			case <-ctx.Done():
			}
			continue
		}
		claimed, err := l.claim(ctx, n)
		l.giveSlots(n - len(claimed))
		if len(claimed) > 0 {
			l.start(hard, claimed, runs)
		}
		if err != nil && ctx.Err() == nil {
			l.r.log.Warn("no work taken", "script_type", string(l.typ), "err", err)
			pause.For(ctx, claimPause)
		}
	}
}

// claim waits for up to n jobs, or until the lane is to look elsewhere too.
func (l *lane) claim(ctx context.Context, n int) ([]board.Claimed, error) {
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
		pause.For(ctx, claimPause)
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

// open waits until the lane may claim; false is that ctx has ended.
func (l *lane) open(ctx context.Context) bool {
	for ctx.Err() == nil {
		changed := l.r.e.bans.Changed() // first: no change after this is missed
		may, turned := l.r.may()
		if _, banned := l.r.e.bans.Claims(l.typ); may && !banned {
			return true
		}
		select {
		case <-changed:
		case <-turned:
		case <-ctx.Done():
		}
	}
	return false
}

func (l *lane) start(hard context.Context, claimed []board.Claimed, runs *sync.WaitGroup) {
	if o := l.r.cfg.Observer; o != nil {
		o.JobsClaimed(l.typ, len(claimed))
	}
	begun := time.Now()
	list := make([]*run, len(claimed))
	for i, c := range claimed {
		// The rest of the lease is measured from now, not read off the clock,
		// which somebody may set.
		until := begun.Add(min(c.Until.Sub(begun), l.r.cfg.Lease))
		x := &run{r: l.r, lane: l, claimed: c, begun: begun, until: until, done: runs.Done}
		x.ctx, x.cancel = context.WithCancelCause(hard)
		x.ctx = script.WithLook(x.ctx, func() { x.look(time.Now()) })
		x.key, x.foreignItem = jobItem(c.Item)
		list[i] = x
	}
	l.singleOut(list)
	l.r.hold(list)
	runs.Add(len(list))
	for _, x := range list {
		select {
		case l.idle <- x:
		default:
			go l.work(x)
		}
	}
}

// work does one run after the other, until the lane takes no more.
func (l *lane) work(x *run) {
	for x != nil {
		x.do()
		l.ran(x)
		x = <-l.idle
	}
}
