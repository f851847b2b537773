package work

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// RunnerConfig says what a runner serves and how.
type RunnerConfig struct {
	// ID is the runner's id; its own queues are queue:<type>:runner<id>.
	ID domain.RunnerID
	// Owner is written on leases. It must differ for each life of the process.
	Owner string
	// Runtimes are what it serves, one queue each.
	Runtimes []script.Runtime
	// Slots overrides how many scripts of a type run at once.
	// Default: what the runtime says.
	Slots map[domain.ScriptType]int
	// PerContext overrides how many slots of a type one context may hold at once.
	// Default: all but one where there are several contexts, else all.
	PerContext map[domain.ScriptType]int
	// Several reports whether there are several contexts. It is asked at each
	// claim: it answers from memory. Default: there are not.
	Several func() bool
	// Aging is how much longer a job must have waited to go before one of the next
	// higher priority. Default: a minute; less than 0: priorities do not age.
	Aging time.Duration
	// Lease is the length of a lease. Default: 30s.
	Lease time.Duration
	// Grace is how long running jobs may go on when the runner is told to
	// stop; then they go back to the queue. Default: 30s.
	Grace time.Duration
	// StopGrace is the time between SIGTERM and SIGKILL. Default: 5s.
	StopGrace time.Duration
	// Limits bound every script.
	Limits script.Limits
	// May reports whether the runner may take work, and returns a channel that
	// is closed when that changes. What runs goes on. Default: always.
	May func() (may bool, changed <-chan struct{})
	// Labels are those of the node: jobs that ask for them come here.
	Labels domain.Labels
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
}

// Observer is told what a runner does. Its methods must be quick.
type Observer interface {
	// JobsClaimed is told of jobs of one type that were leased together.
	JobsClaimed(t domain.ScriptType, n int)
	// AttemptEnded is told of the end of each run; status is what the job
	// became: finished, error, or started when it goes on.
	AttemptEnded(t domain.ScriptType, status domain.JobStatus, reason domain.Reason, took time.Duration)
}

// Runner leases jobs and runs them.
type Runner struct {
	e     *Engine
	cfg   RunnerConfig
	log   *slog.Logger
	lanes []*lane
	// finishes carries the batches that end runs. Closed when the last run has
	// ended.
	finishes chan finish

	mu   sync.Mutex
	held map[place]*run
}

// NewRunner returns a runner on the engine's board.
func NewRunner(e *Engine, cfg RunnerConfig) *Runner {
	cfg.Aging = max(cmp.Or(cfg.Aging, time.Minute), 0)
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Grace = cmp.Or(cfg.Grace, 30*time.Second)
	cfg.StopGrace = cmp.Or(cfg.StopGrace, 5*time.Second)
	r := &Runner{e: e, cfg: cfg, log: e.log, finishes: make(chan finish, board.MaxClaim), held: map[place]*run{}}
	for _, rt := range cfg.Runtimes {
		info := rt.Info()
		slots := cmp.Or(cfg.Slots[rt.Type()], info.Slots, 1)
		r.lanes = append(r.lanes, newLane(r, rt, info, slots))
	}
	return r
}

// Run leases and runs jobs until ctx ends; then it takes no more, lets running
// jobs go on for Grace, gives back those that have not ended, and returns. It
// is called once.
//
// Errors: [domain.ErrUnavailable] when the board did not answer, so that jobs
// in hand could not be given back.
func (r *Runner) Run(ctx context.Context) error {
	// Work in hand outlives ctx: it is ended by the drain below.
	defer r.join()()
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var lanes, runs, ends, beats sync.WaitGroup
	for _, l := range r.lanes {
		lanes.Go(func() { l.claimLoop(ctx, hard, &runs) })
	}
	for _, follow := range r.followers() {
		lanes.Go(func() { follow(ctx) })
	}
	for range finishers {
		ends.Go(func() { r.finishLoop(hard) })
	}
	beat, stopBeat := context.WithCancel(hard)
	beats.Go(func() { r.heartbeat(beat) })

	lanes.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runs.Wait()
		close(r.finishes)
		ends.Wait()
	}()
	err := r.drain(ended, stop)
	stopBeat()
	beats.Wait()
	return err
}

// may reports whether the runner may take work now.
func (r *Runner) may() (bool, <-chan struct{}) {
	if r.cfg.May == nil {
		return true, nil
	}
	return r.cfg.May()
}

// hold and release keep the book of runs in hand.
func (r *Runner) hold(runs []*run) {
	r.mu.Lock()
	for _, x := range runs {
		if old := r.held[x.place()]; old != nil {
			old.cancel(script.ErrLost) // it goes on, but the lease is another's: this one's
		}
		r.held[x.place()] = x
	}
	r.mu.Unlock()
	r.e.stopLate(runs)
}

func (r *Runner) release(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[x.place()] == x { // or a later attempt has come here, whose lease must be renewed
		delete(r.held, x.place())
	}
}

// join makes the runner known to its engine until the returned function is
// called.
func (r *Runner) join() (leave func()) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	r.e.runners[r] = struct{}{}
	return func() {
		r.e.mu.Lock()
		defer r.e.mu.Unlock()
		delete(r.e.runners, r)
	}
}

// stopMemory is how long a cancel is remembered that met no run in this
// process: far longer than it takes from a claim to its run.
const stopMemory = time.Minute

// stopHere tells a job to stop if it runs in this process. One that was leased
// a moment ago may not be in the book yet; then stopLate does it.
func (e *Engine) stopHere(space board.Space, key domain.JobKey, attempt int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	where := place{space, key}
	for r := range e.runners {
		r.mu.Lock()
		x := r.held[where]
		r.mu.Unlock()
		if x != nil {
			x.cancel(script.ErrCancelled)
			return
		}
	}
	if len(e.runners) == 0 {
		return
	}
	now := time.Now()
	for old, mark := range e.stops {
		if now.Sub(mark.at) > stopMemory {
			delete(e.stops, old)
		}
	}
	e.stops[where] = stopMark{attempt, now}
}

// stopMark is a cancel that met no run in this process.
type stopMark struct {
	attempt int64
	at      time.Time
}

// stopLate stops those of the runs, now in the book, whose cancel came before.
func (e *Engine) stopLate(runs []*run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.stops) == 0 {
		return
	}
	for _, x := range runs {
		if mark, ok := e.stops[x.place()]; ok && mark.attempt == x.claimed.Token {
			delete(e.stops, x.place())
			x.cancel(script.ErrCancelled)
		}
	}
}
