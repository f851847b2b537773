package lease

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Doing is work that a [Runner] does.
type Doing interface {
	Work
	// Do does it. It reports whether there is an end to be written: there is none of
	// what is somebody else's already.
	Do() bool
	// End is the commit that ends it. Only the holder of the lease can make it.
	End() board.Batch
	// Again writes an end whose commit gave err, until it is written, the lease is no
	// longer ours, or ctx ends. It returns what the last commit gave.
	Again(ctx context.Context, err error) error
	// Close is told that nothing is left to do. err is why the end was not written.
	Close(err error)
}

// RunnerConfig says how a runner works.
type RunnerConfig[W Doing] struct {
	Config[W]
	// Grace is how long work may go on when the runner is told to stop. Default: [domain.DefaultGrace].
	Grace time.Duration
	// StopGrace is how long work that was told to stop is waited for in any case.
	StopGrace time.Duration
	// Draining is the cause with which it is stopped then. Required.
	Draining error
}

// Runner takes items from queues, has them worked on, and writes how that ended.
type Runner[W Doing] struct {
	*Renewer[W]
	cfg      RunnerConfig[W]
	claimers []*Claimer[W]
	busy     sync.WaitGroup // work that is not closed
	// ends is work whose end is to be written. Closed by Run when none is left.
	ends chan done[W]
}

// done is work that is done, with the claimer that it has a slot of.
type done[W Doing] struct {
	work    W
	claimer *Claimer[W]
}

// NewRunner returns a runner without claimers.
func NewRunner[W Doing](cfg RunnerConfig[W]) *Runner[W] {
	cfg.Grace = cmp.Or(cfg.Grace, domain.DefaultGrace)
	return &Runner[W]{Renewer: NewRenewer(cfg.Config), cfg: cfg, ends: make(chan done[W], board.MaxClaim)}
}

// Serve has the runner take items from a source, and work on so many at once.
func (r *Runner[W]) Serve(from Source[W], slots int) *Claimer[W] {
	l := &Claimer[W]{r: r, from: from, free: slots, freed: make(chan struct{}, 1), idle: make(chan W)}
	r.claimers = append(r.claimers, l)
	return l
}

// finishers is how many loops write ends: while one waits for the disk, the other
// gathers the next.
const finishers = 2

// Run takes and does work until ctx ends, with loops beside that end with ctx. Then
// it takes no more, lets what is in hand go on for Grace, and stops it. It is called
// once.
func (r *Runner[W]) Run(ctx context.Context, beside ...func(context.Context)) Left[W] {
	// What is in hand outlives ctx: it is ended by the drain below.
	hard, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var taking, ending, keeping sync.WaitGroup
	for _, l := range r.claimers {
		taking.Go(func() { l.run(ctx, hard) })
	}
	for _, loop := range beside {
		taking.Go(func() { loop(ctx) })
	}
	for range finishers {
		ending.Go(func() { InGroups(r.ends, maxClaim, func(list []done[W]) { r.finish(hard, list) }) })
	}
	keep, endKeeping := context.WithCancel(hard)
	keeping.Go(func() { r.Keep(keep) })

	taking.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.busy.Wait()
		close(r.ends)
		ending.Wait()
	}()
	left := r.drain(ended, abandon)
	endKeeping()
	keeping.Wait()
	return left
}

// finish writes the ends of work that is done.
func (r *Runner[W]) finish(ctx context.Context, list []done[W]) {
	batches := make([]board.Batch, len(list))
	for i, d := range list {
		batches[i] = d.work.End()
	}
	freed := map[*Claimer[W]]int{}
	for i, err := range r.cfg.Board.CommitEach(ctx, batches) {
		d := list[i]
		if err != nil && !IsGone(err) {
			// The slow way, beside the loop: it may take until the board is back.
			go func() { d.claimer.close(d.work, d.work.Again(ctx, err)) }()
			continue
		}
		r.close(d.work, err)
		freed[d.claimer]++
	}
	for l, n := range freed {
		l.giveSlots(n)
	}
}

// close is the end of work on this side.
func (r *Runner[W]) close(w W, err error) {
	r.Remove(w)
	w.Close(err)
	r.busy.Done()
}
