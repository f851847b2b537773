package circle

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// lane serves one circle: a number of slots and a loop that fills them.
type lane struct {
	w      *Worker
	circle domain.ServedCircle
	list   string
	ask    board.Ask
	freed  chan struct{} // a slot became free; capacity 1
	// idle hands runs to goroutines that have ended one: their stacks have
	// grown already. Closed by claimLoop.
	idle chan *run

	mu   sync.Mutex
	free int
}

const (
	// maxClaim is how many tasks one claim takes at the most: enough to make
	// its cost small, few enough that other nodes get their share.
	maxClaim = 256
	// claimWait is how long one claim waits. It only bounds the wait: a push
	// wakes it at once.
	claimWait = time.Minute
	// claimPause is how long a lane rests after the board could not be asked.
	claimPause = 500 * time.Millisecond
)

func newLane(w *Worker, c domain.ServedCircle, slots int) *lane {
	list := layout.Circle(c.Name)
	return &lane{
		w: w, circle: c, list: list, free: slots, freed: make(chan struct{}, 1), idle: make(chan *run),
		ask: board.Ask{
			Queues: []board.Queue{{Lists: []string{list}}},
			Spaces: []board.Space{layout.SpaceOf(c.Context)},
			Owner:  w.cfg.Owner,
			Lease:  w.cfg.Lease,
			Wait:   claimWait,
			Mark:   []board.Field{{Name: layout.TaskStatus, Value: string(domain.TaskProcessing)}},
			Stamp:  []string{layout.TaskUpdatedAt},
			Skip:   board.Match{Field: layout.TaskStatus, Values: []string{string(domain.TaskCompleted), string(domain.TaskError)}},
		},
	}
}

// takeSlots takes all free slots, up to what one claim may bring.
func (l *lane) takeSlots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(l.free, maxClaim)
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
		ask := l.ask
		ask.Max = n
		claimed, err := l.w.e.board.Claim(ctx, ask)
		if err != nil {
			claimed = nil // nothing is begun of a claim that failed: others may have it
		}
		l.giveSlots(n - len(claimed))
		if len(claimed) > 0 {
			l.start(hard, claimed, runs)
		}
		if err != nil && ctx.Err() == nil {
			l.w.log.Warn("no tasks taken", "circle", l.circle.Name, "context", uint32(l.circle.Context), "err", err)
			pause.For(ctx, claimPause)
		}
	}
}

// open waits until the lane may claim; false is that ctx has ended.
func (l *lane) open(ctx context.Context) bool {
	for ctx.Err() == nil {
		may, turned := l.w.cfg.May()
		banned, changed := l.w.cfg.Banned(l.circle.Context)
		if may && !banned {
			return true
		}
		select {
		case <-turned:
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

func (l *lane) start(hard context.Context, claimed []board.Claimed, runs *sync.WaitGroup) {
	begun := time.Now()
	list := make([]*run, len(claimed))
	for i, c := range claimed {
		// The rest of the lease is measured from now, not read off the clock,
		// which somebody may set.
		until := begun.Add(min(c.Until.Sub(begun), l.w.cfg.Lease))
		x := &run{w: l.w, lane: l, claimed: c, begun: begun, until: until, done: runs.Done}
		x.ctx, x.cancel = context.WithCancelCause(hard)
		x.ctx = script.WithLook(x.ctx, func() { x.look(time.Now()) })
		list[i] = x
	}
	l.w.hold(list)
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
		x = <-l.idle
	}
}

// hold and release keep the book of runs in hand.
func (w *Worker) hold(runs []*run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range runs {
		w.held[x] = struct{}{}
	}
}

func (w *Worker) release(x *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, x)
}
