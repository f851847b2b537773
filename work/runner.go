package work

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
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
	// Lease is the length of a lease. Default: 30s.
	Lease time.Duration
	// Grace is how long running jobs may go on when the runner is told to
	// stop; then they go back to the queue. Default: 30s.
	Grace time.Duration
	// StopGrace is the time between SIGTERM and SIGKILL. Default: 5s.
	StopGrace time.Duration
	// Limits bound every script.
	Limits script.Limits
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
func (r *Runner) Run(ctx context.Context) error {
	// Work in hand outlives ctx: it is ended by the drain below.
	defer r.join()()
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var lanes, runs, ends, beats sync.WaitGroup
	for _, l := range r.lanes {
		lanes.Go(func() { l.claimLoop(ctx, hard, &runs) })
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
	r.drain(ended, stop)
	stopBeat()
	beats.Wait()
	return nil
}

// unwritten is how long a drain waits for ends of runs to be written after
// everything was stopped: when the board is away, the leases run out instead.
const unwritten = 10 * time.Second

// stuckWait is how long a drain waits after that. What still runs then is a
// script inside the process that does not listen: nothing ends it but the end
// of the process.
const stuckWait = time.Second

// drain waits until all runs have ended, and ends those that take longer than
// Grace.
func (r *Runner) drain(done <-chan struct{}, stop context.CancelFunc) {
	if waitFor(done, r.cfg.Grace) {
		return
	}
	r.mu.Lock()
	for _, x := range r.held {
		x.cancel(script.ErrDraining)
	}
	r.mu.Unlock()
	if waitFor(done, r.cfg.StopGrace+unwritten) {
		return
	}
	stop()
	if waitFor(done, stuckWait) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.held {
		r.log.Error("script does not stop; another node may run it when its lease has run out", "job", x.claimed.Item,
			"context", uint32(x.claimed.Space), "script_type", string(x.lane.typ))
	}
}

// waitFor waits until done is closed, or d is over: then it returns false.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// hold and release keep the book of runs in hand.
func (r *Runner) hold(runs []*run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range runs {
		r.held[x.place()] = x
	}
}

func (r *Runner) release(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, x.place())
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

// stopHere tells a job to stop if it runs in this process.
func (e *Engine) stopHere(space board.Space, key domain.JobKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runners {
		r.mu.Lock()
		if x := r.held[place{space, key}]; x != nil {
			x.cancel(script.ErrCancelled)
		}
		r.mu.Unlock()
	}
}

// heartbeat renews the leases in hand, a third of their length after they
// were last renewed, and stops what is cancelled or lost. A script whose lease
// could not be renewed (the board is away) is stopped before the lease runs
// out, because then another node may start it.
func (r *Runner) heartbeat(ctx context.Context) {
	tick := time.NewTicker(r.cfg.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.beat(ctx, time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// beat does one round.
func (r *Runner) beat(ctx context.Context, now time.Time) {
	due := r.dueForRenewal(now)
	for len(due) > 0 {
		part := due[:min(len(due), board.MaxOps)]
		due = due[len(part):]
		r.extend(ctx, part)
	}
}

func (r *Runner) dueForRenewal(now time.Time) []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []*run
	for _, x := range r.held {
		left := x.leaseUntil().Sub(now)
		if left < r.cfg.Lease/6+r.cfg.Lease/20 {
			x.cancel(script.ErrLost)
		}
		if left <= r.cfg.Lease*2/3 {
			due = append(due, x)
		}
	}
	return due
}

func (r *Runner) extend(ctx context.Context, runs []*run) {
	held := make([]board.Held, len(runs))
	for i, x := range runs {
		held[i] = board.Held{Space: x.claimed.Space, Item: x.claimed.Item, Token: x.claimed.Token}
	}
	asked := time.Now()
	// Bounded, so that a board that hangs does not hide that leases run out.
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Lease/6)
	defer cancel()
	answers, err := r.e.board.Extend(ctx, r.cfg.Owner, r.cfg.Lease, held)
	if err != nil {
		r.log.Warn("leases not renewed", "jobs", len(held), "err", err)
		return
	}
	for i, a := range answers {
		x := runs[i]
		switch a {
		case board.Lost:
			x.cancel(script.ErrLost)
			continue
		case board.Cancelled:
			x.cancel(script.ErrCancelled)
		}
		x.renewed(asked.Add(r.cfg.Lease))
		x.saveCheckpoint(ctx)
	}
}

// lane serves one script type: a number of slots and a loop that fills them.
type lane struct {
	r     *Runner
	rt    script.Runtime
	typ   domain.ScriptType
	info  script.Info
	ask   board.Ask
	freed chan struct{} // a slot became free; capacity 1
	// idle hands runs to goroutines that have ended one: their stacks have
	// grown already. Closed by claimLoop.
	idle chan *run

	mu   sync.Mutex
	free int
}

// claimWait is how long one Claim waits. It only bounds the wait: a push wakes
// it at once.
const claimWait = time.Minute

func newLane(r *Runner, rt script.Runtime, info script.Info, slots int) *lane {
	return &lane{
		r: r, rt: rt, typ: rt.Type(), info: info, free: slots, freed: make(chan struct{}, 1), idle: make(chan *run),
		ask: board.Ask{
			Queues: layout.Queues(rt.Type(), r.cfg.ID),
			Owner:  r.cfg.Owner,
			Lease:  r.cfg.Lease,
			Wait:   claimWait,
			Mark: []board.Field{
				{Name: layout.JobStatus, Value: string(domain.JobStarted)},
				{Name: layout.JobRunnerID, Value: strconv.FormatUint(uint64(r.cfg.ID), 10)},
			},
			Stamp: []string{layout.JobStartedMs, layout.JobUpdatedAt},
			Skip:  board.Match{Field: layout.JobStatus, Values: []string{string(domain.JobFinished), string(domain.JobError)}},
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

// maxClaim is how many jobs one claim takes at the most: enough to make its
// cost small, few enough that other nodes get their share.
const maxClaim = 256

// claimPause is how long a lane rests after the board could not be asked.
const claimPause = 500 * time.Millisecond

// claimLoop fills the lane's slots until ctx ends. What it starts runs under
// hard.
func (l *lane) claimLoop(ctx, hard context.Context, runs *sync.WaitGroup) {
	defer close(l.idle)
	for ctx.Err() == nil {
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
		claimed, err := l.r.e.board.Claim(ctx, ask)
		l.giveSlots(n - len(claimed))
		if len(claimed) > 0 {
			l.start(hard, claimed, runs)
		}
		if err != nil && ctx.Err() == nil {
			l.r.log.Warn("no work taken", "script_type", string(l.typ), "err", err)
			pause(ctx, claimPause)
		}
	}
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
		x.key, x.foreignItem = jobItem(c.Item)
		list[i] = x
	}
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
		x = <-l.idle
	}
}

// pause waits, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// finishers is how many loops commit the ends of runs: while one waits for
// the disk, the other gathers the next.
const finishers = 2

// finish is a batch that ends a run.
type finish struct {
	x     *run
	batch board.Batch
	what  ended
}

// finishLoop commits the ends of runs, all that are ready at once.
func (r *Runner) finishLoop(ctx context.Context) {
	for f := range r.finishes {
		group := append(make([]finish, 0, 16), f)
	more:
		for len(group) < maxClaim {
			select {
			case f, open := <-r.finishes:
				if !open {
					break more
				}
				group = append(group, f)
			default:
				break more
			}
		}
		r.finish(ctx, group)
	}
}

func (r *Runner) finish(ctx context.Context, group []finish) {
	batches := make([]board.Batch, len(group))
	for i := range group {
		batches[i] = group[i].batch
	}
	freed := map[*lane]int{}
	for i, err := range r.e.board.CommitEach(ctx, batches) {
		f := group[i]
		if err != nil && !f.x.settled(err) {
			// The slow way, beside the loop: it may take until the board is back.
			go f.x.finishAgain(ctx, f, err)
			continue
		}
		f.x.close(f.what, err)
		freed[f.x.lane]++
	}
	for l, n := range freed {
		l.giveSlots(n)
	}
}

// ended is what came of a run, for the observer and the log.
type ended struct {
	status  domain.JobStatus // started: it goes on later
	reason  domain.Reason
	text    string
	written bool // it is on the board already
}

// settled reports whether err means that there is nothing left to do: the
// lease is no longer ours.
func (x *run) settled(err error) bool {
	var g *board.GuardError
	return errors.As(err, &g) && g.Guard.Kind == board.GuardHeld
}
