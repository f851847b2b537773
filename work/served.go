package work

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work/taker"
)

// serving is what the runners of the board say that they serve, for one context at
// one instant.
type serving struct {
	runners   []domain.Runner
	tenant    domain.TenantID
	isolation domain.Isolation
	now       time.Time
	taken     func(list string) bool // whether foreign runners take from a queue
	// known are the answers so far: there may be thousands of workers, and of jobs that want
	// the same.
	known map[wantOf]willing
}

// wantOf is what the jobs of a context may differ in where it is about who takes them.
type wantOf struct {
	typ    domain.ScriptType
	labels string
	runner domain.RunnerID
}

// willing is who takes what is wanted, or what is missing.
type willing struct {
	takers []domain.Service
	lack   string
}

// serving asks the board.
func (e *Engine) serving(ctx context.Context, space board.Space) (s serving, err error) {
	s.tenant, s.now = domain.TenantID(space), e.board.Now()
	if s.isolation, err = e.isolation(ctx, space); err != nil {
		return s, err
	}
	if s.taken, err = e.takenIn(ctx, space); err != nil {
		return s, err
	}
	if s.runners, err = e.served(ctx, 0); err != nil {
		return s, err
	}
	workers, err := e.workersOf(ctx, space)
	s.runners = append(s.runners, workers...)
	return s, err
}

const (
	// manyWorkers is from how many workers of a context on they are not read anew for each who asks: a
	// record of each may say of [domain.MaxWorkerTypes] types how it serves them.
	manyWorkers = 500
	// workersRead is for how long it is gone by what was read of so many. Each is written every [workerEvery].
	workersRead = 2 * time.Second
)

// workersOf are the workers of a context, read by one at a time: where they are many the others have the same.
func (e *Engine) workersOf(ctx context.Context, space board.Space) ([]domain.Runner, error) {
	v, _ := e.read.LoadOrStore(space, &lastWorkers{turn: make(chan struct{}, 1)})
	last := v.(*lastWorkers)
	select {
	case last.turn <- struct{}{}:
		defer func() { <-last.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if many := last.many.Load(); many != nil {
		return *many, nil
	}
	all, err := e.served(ctx, space)
	if err == nil && len(all) >= manyWorkers {
		last.many.Store(&all)
		time.AfterFunc(workersRead, func() { last.many.Store(nil) })
	}
	return all, err
}

// lastWorkers are the workers of a context as they were read last, where they were many.
type lastWorkers struct {
	turn chan struct{} // capacity 1
	many atomic.Pointer[[]domain.Runner]
}

// served is what the runners of the nodes say of themselves, or in a context's space its
// workers.
func (e *Engine) served(ctx context.Context, space board.Space) (runners []domain.Runner, err error) {
	cursor, seen := "", map[string]bool{} // a key may come twice in a listing
	for {
		keys, next, err := e.board.Keys(ctx, space, layout.RunnerPrefix, cursor, listPage)
		if err != nil {
			return nil, err
		}
		recs, err := board.Readable(e.board.Get(ctx, space, keys...))
		if err != nil {
			return nil, err
		}
		for i, rec := range recs {
			r, err := layout.DecodeRunner(keys[i], rec)
			if err != nil || seen[keys[i]] {
				continue
			}
			seen[keys[i]] = true
			e.refresh(&r)
			runners = append(runners, r)
		}
		if cursor = next; next == "" {
			return runners, nil
		}
	}
}

// Absent says that no node of the board which is alive is on duty in a role; see
// [taker.Absent].
func (e *Engine) Absent(ctx context.Context, role domain.Role) (lack string, err error) {
	runners, err := e.served(ctx, 0)
	if err != nil {
		return "", err
	}
	return taker.Absent(runners, role, e.board.Now()), nil
}

// Lacks returns what says of a job of a context who is not there now to take it; "" where
// somebody is. The job need not be there, either: refused says that none would be made, as its script
// type is not known.
func (e *Engine) Lacks(ctx context.Context, tenant domain.TenantID) (lacks func(*domain.Job) (why string, refused bool), err error) {
	s, err := e.serving(ctx, layout.SpaceOf(tenant))
	return func(j *domain.Job) (string, bool) {
		if unknown := (*UnknownTypeError)(nil); errors.As(e.known(ctx, tenant, j), &unknown) {
			return unknown.Error(), true
		}
		_, lack := s.takers(j)
		return lack, false
	}, err
}

// takers are those who would take a job; see [taker.Of]. Where foreign runners
// take from its queue nobody is lacking. It is not safe for concurrent use.
func (s *serving) takers(j *domain.Job) (takers []domain.Service, lack string) {
	of := wantOf{j.ScriptType, j.Affinity.String(), j.ForRunner}
	w, known := s.known[of]
	if !known {
		want := taker.Want{Type: j.ScriptType, Labels: j.Affinity, Runner: j.ForRunner, Context: s.tenant, Isolation: s.isolation}
		w.takers, w.lack = taker.Of(s.runners, want, s.now)
		if s.known == nil {
			s.known = map[wantOf]willing{}
		}
		s.known[of] = w
	}
	if w.lack != "" && s.taken(queue.Of(j)) {
		w.lack = ""
	}
	return w.takers, w.lack
}

// lack says who is not there that the job waits for as it stands, and else who would
// take it.
func (s *serving) lack(x *explained, j *domain.Job) (takers []domain.Service, lack string) {
	if x.waitsForTaker() {
		takers, lack = s.takers(j)
	}
	if lack == "" && x.waitsForTime() {
		lack = s.clockless()
	}
	return takers, lack
}

// clockless says that nobody is there who does what comes due; "" where somebody is.
func (s *serving) clockless() string { return taker.Absent(s.runners, domain.RoleClockwork, s.now) }

// refresh adds to the record of a runner in this process how things stand now; records of
// others are some seconds old.
func (e *Engine) refresh(about *domain.Runner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runners { // a node may have several, of other types each
		if r.cfg.ID == about.ID {
			r.Tell(about.Serves)
		}
	}
}

// explainSlots says that a job waits for a slot, where none of those who would
// take it has one for its context. Of other contexts it tells how many there are.
func (x *explained) explainSlots(tenant domain.TenantID, t domain.ScriptType, services []domain.Service) {
	slots, taken, mine, most := 0, 0, 0, 0
	holders := map[domain.TenantID]bool{}
	for _, s := range services {
		if s.Slots == 0 || s.Free(tenant) {
			return
		}
		slots, taken, mine, most = slots+s.Slots, taken+min(s.Taken, s.Slots), mine+s.HeldBy(tenant), most+s.PerContext
		for _, h := range s.Holders {
			holders[h.Context] = true
		}
	}
	switch {
	case slots == 0:
	case taken < slots:
		x.Text += fmt.Sprintf("; its context holds %d of the %d slots for %s, and may hold %d: it waits for one of its own jobs to end", mine, slots, t, most)
	case len(holders) == 1 && holders[tenant]:
		x.SlotsTaken, x.SlotContexts = slots, 1
		x.Text += fmt.Sprintf("; all slots for %s (%d) are taken by jobs of its own context", t, slots)
	default:
		x.SlotsTaken, x.SlotContexts = slots, len(holders)
		x.Text += fmt.Sprintf("; all slots for %s (%d) are taken by jobs of %s", t, slots, countOf(len(holders), "context"))
	}
}

// countOf is a number with its noun.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
