package effect

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
)

// inFlight is what a worker has taken and not ended yet, whatever becomes of its
// consumers.
type inFlight struct {
	mu    sync.Mutex
	runs  map[*run]struct{}
	marks map[ref]*run // by their mark: no command is here twice
}

// ref names a mark across contexts.
type ref struct {
	space board.Space
	key   string
}

func (h *inFlight) add(t *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == nil {
		h.runs, h.marks = map[*run]struct{}{}, map[ref]*run{}
	}
	t.kept = time.Now()
	h.runs[t] = struct{}{}
}

// claim says that nobody else here is at the command.
func (h *inFlight) claim(t *run) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := ref{t.space, t.key}
	if other := h.marks[p]; other != nil && other != t {
		return false
	}
	h.marks[p] = t
	return true
}

func (h *inFlight) remove(t *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, t)
	if p := (ref{t.space, t.key}); h.marks[p] == t {
		delete(h.marks, p)
	}
}

// keep tells the broker at a third of the ack wait which commands we are still
// at, until ctx ends.
func (h *inFlight) keep(ctx context.Context, ackWait time.Duration) {
	tick := time.NewTicker(ackWait / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			h.tell(ctx, now.Add(-ackWait/3+ackWait/100), ackWait/6)
		}
	}
}

// tell tells of those that were told of last before an instant.
func (h *inFlight) tell(ctx context.Context, last time.Time, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(16)
	for _, t := range h.all() {
		g.Go(func() error { t.progress(ctx, last); return nil })
	}
	_ = g.Wait()
}

func (h *inFlight) all() []*run {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*run, 0, len(h.runs))
	for t := range h.runs {
		list = append(list, t)
	}
	return list
}

// progress tells the broker that the command is in flight, unless it knew that
// after an instant.
func (t *run) progress(ctx context.Context, last time.Time) {
	t.telling <- struct{}{}
	defer func() { <-t.telling }()
	if t.over || t.keptAfter(last) {
		return
	}
	began := time.Now() // if the node is stopped meanwhile, the broker heard it before that
	if err := t.d.Progress(ctx); err == nil {
		t.keptAt(began)
	}
}

func (t *run) keptAfter(last time.Time) bool {
	t.heard.Lock()
	defer t.heard.Unlock()
	return t.kept.After(last)
}

// keptAt says that the broker knew at an instant that the command is in flight.
func (t *run) keptAt(at time.Time) {
	t.heard.Lock()
	defer t.heard.Unlock()
	t.lost = t.lost || at.Sub(t.kept) > t.longestSilence()
	t.kept = at
}

// mayBeOthers says that the broker has heard nothing of the command for so long,
// now or once, that another node may be at it, or have ended it: this one was
// stopped, or cut off.
func (t *run) mayBeOthers() bool {
	t.heard.Lock()
	defer t.heard.Unlock()
	return t.lost || time.Since(t.kept) > t.longestSilence()
}

// longestSilence is the ack wait, but for the time that the broker's answers and
// the beginning of a call may take. What is told at a third of it, as it comes to
// be, stays below.
func (t *run) longestSilence() time.Duration {
	wait := t.consumer.w.cfg.AckWait
	return wait - wait/6
}
