package work

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// This file has a claimer rest on a machine that cannot start scripts: its disk is full,
// the interpreter was removed, the board does not answer what a job is prepared by. That
// is no job's fault, and a node that went on claiming would empty the queue beside nodes
// that are well. A job that meets it goes back at once, without a loss; the node looks at
// itself with growing pauses, and when it finds nothing wrong any more one job at a time
// tries it.
//
//	well ──no start──> rests ──pause──> looks ──works──> tries one job ──begun──> well
//	                     ^                └──────────────────┴──no start─┐
//	                     └───────────────────────────────────────────────┘
//
// What looks like the machine's fault may be the job's own all the same: a job that
// meets it again although others were started in between has lost its runner.

const (
	// machineRestMin and machineRestMax bound the pause before the machine is looked at
	// again; it doubles.
	machineRestMin = time.Second
	machineRestMax = time.Minute
	// trialTime is after what time a script that tries the machine counts as started:
	// it may run for a month.
	trialTime = 5 * time.Second
	// maxMet bounds what is remembered of jobs; what is forgotten goes back once more.
	maxMet = 10_000
	// tryBytes is what must have room in the folder of the jobs.
	tryBytes = 64 << 10
)

// health is whether scripts can be started. It is guarded by the claimer's mutex.
type health struct {
	why     error // why they could not be when it was tried last; nil: they can
	resting bool  // until then nothing is claimed
	until   time.Time
	rest    time.Duration
	trial   *run // tries it, and nothing else does
	begun   int  // scripts that were started, so far
	// met are the jobs that met a fault of the machine, with begun as it was then.
	met map[ref]int
}

// machineErrors are what the system, or the board, says where it lacks something. Not among them are
// those that a job brings about, as E2BIG for variables that are too large.
var machineErrors = []error{
	domain.ErrUnavailable, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ENOMEM, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE,
	syscall.ESTALE, syscall.ENODEV, syscall.ENXIO, syscall.ENOTCONN,
}

// ofMachine reports whether a job was not started for a fault of the machine, and
// remembers it; again is that the job has met one before.
func (l *claimer) ofMachine(ctx context.Context, x *run, err error) (yes, again bool) {
	l.mu.Lock()
	begun, again := l.health.met[x.ref()]
	own := again && l.health.begun > begun
	l.mu.Unlock()
	if own {
		return false, again
	}
	for _, kind := range machineErrors {
		yes = yes || errors.Is(err, kind)
	}
	if !yes && l.look(ctx) == nil {
		return false, again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.health.met == nil || len(l.health.met) >= maxMet {
		l.health.met = map[ref]int{}
	}
	l.health.met[x.ref()] = l.health.begun
	return true, again
}

// spare puts back a job that the machine could not start: where it is taken first, by
// others as a rule, but behind all others when it was so before: it may be the job.
func (x *run) spare(b *board.Batch, again bool) ended {
	if again {
		x.letGo(b)
		b.PushLeft(queue.Of(x.job), x.Claimed.Item)
	} else {
		x.putBack(b)
	}
	return ended{status: domain.JobStarted, text: "put back: scripts of its type cannot be started here"}
}

// rests has the claimer rest for a fault that a job met, and every claimer whose jobs have
// folders where it is a fault of that.
func (l *claimer) rests(why error) {
	if l.items == nil {
		return // a worker's: it is told, and rests by itself
	}
	claimers := []*claimer{l}
	var path *os.PathError
	if errors.As(why, &path) && within(l.r.e.cfg.DataDir, path.Path) {
		claimers = l.r.claimers
	}
	for _, other := range claimers {
		if other == l || !other.info.InProcess {
			other.beginRest(why)
		}
	}
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// beginRest begins a rest or, after a look or a trial, a longer one. Others that were claimed together meet the same, and change nothing.
func (l *claimer) beginRest(why error) {
	l.mu.Lock()
	h := &l.health
	if h.resting {
		l.mu.Unlock()
		return
	}
	first := h.why == nil
	if h.rest = min(2*h.rest, machineRestMax); first {
		h.rest = machineRestMin
	}
	h.why, h.resting, h.until = why, true, time.Now().Add(h.rest)
	if l.interrupt != nil {
		l.interrupt()
	}
	l.mu.Unlock()
	if first {
		l.r.log.Warn("scripts cannot be started here: jobs of the type are left to other nodes until they can", "script_type", string(l.typ), "err", why)
	}
	l.items.Wake() // or a claim that finds no room would wait for a slot
	l.r.healthChanged()
}

// mended looks at the machine when a rest is over. It returns for how long the claimer
// has to rest still.
func (l *claimer) mended(ctx context.Context) time.Duration {
	l.mu.Lock()
	resting, left := l.health.resting, time.Until(l.health.until)
	l.mu.Unlock()
	if !resting || left > 0 {
		return max(left, 0)
	}
	err := l.look(ctx)
	l.mu.Lock()
	l.health.resting = false
	l.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		l.beginRest(err)
		return l.mended(ctx)
	}
	l.r.healthChanged()
	return 0
}

// look finds out whether scripts could be started, without starting one.
func (l *claimer) look(ctx context.Context) error {
	if err := l.rt.Check(ctx); err != nil || l.info.InProcess {
		return err
	}
	dir := filepath.Join(l.r.e.cfg.DataDir, "try-"+string(l.typ)) // a name that stays: a node that is killed leaves one at the most
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "file"), make([]byte, tryBytes), 0o600)
}

// try has the first of the claimed try the machine, if that is to be tried.
func (l *claimer) try(list []*run) {
	if h := &l.health; h.why != nil && !h.resting && h.trial == nil {
		h.trial = list[0]
	}
}

// leftAlone reports whether the run is to go back because it is not the one that tries
// the machine; tries, that it is.
func (l *claimer) leftAlone(x *run) (leave, tries bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tries = l.health.trial == x
	return l.health.why != nil && !tries, tries
}

// started counts a script that was started. Where it tried the machine, that is well.
func (l *claimer) started(x *run) {
	l.mu.Lock()
	l.health.begun++
	well := l.health.trial == x
	if well {
		l.health.why, l.health.trial, l.health.resting = nil, nil, false
	}
	l.mu.Unlock()
	if well {
		l.r.log.Info("scripts can be started here again", "script_type", string(l.typ))
		l.items.Wake()
		l.r.healthChanged()
	}
}

// healthChanged tells the node that a type is not served any more, or is again.
func (r *Runner) healthChanged() {
	if r.cfg.HealthChanged != nil {
		r.cfg.HealthChanged()
	}
}

// Tell adds to what is known of services how their slots are used, and why scripts
// cannot be started where they cannot.
func (r *Runner) Tell(services []domain.Service) {
	uses := r.Uses()
	for i := range services {
		s := &services[i]
		use, here := uses[s.ScriptType]
		if !here {
			continue
		}
		s.SlotUse = use
		for _, l := range r.claimers {
			l.mu.Lock()
			if l.typ == s.ScriptType && l.health.resting {
				s.Served, s.Why = false, "scripts cannot be started here, which is tried again: "+l.health.why.Error()
			}
			l.mu.Unlock()
		}
	}
}
