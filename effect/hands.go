package effect

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
)

// hands are the commands that a worker has, whatever becomes of its lanes.
type hands struct {
	mu    sync.Mutex
	tasks map[*task]struct{}
	marks map[place]*task // by their mark: no command is here twice
}

// place names a mark across contexts.
type place struct {
	space board.Space
	key   string
}

func (h *hands) add(t *task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks == nil {
		h.tasks, h.marks = map[*task]struct{}{}, map[place]*task{}
	}
	t.kept = time.Now()
	h.tasks[t] = struct{}{}
}

// claim says that nobody else here is at the command.
func (h *hands) claim(t *task) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := place{t.space, t.key}
	if other := h.marks[p]; other != nil && other != t {
		return false
	}
	h.marks[p] = t
	return true
}

func (h *hands) remove(t *task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tasks, t)
	if p := (place{t.space, t.key}); h.marks[p] == t {
		delete(h.marks, p)
	}
}

// keep tells the broker at a third of the ack wait which commands we are still
// at, until ctx ends.
func (h *hands) keep(ctx context.Context, ackWait time.Duration) {
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
func (h *hands) tell(ctx context.Context, last time.Time, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(16)
	for _, t := range h.all() {
		g.Go(func() error { t.progress(ctx, last); return nil })
	}
	_ = g.Wait()
}

func (h *hands) all() []*task {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*task, 0, len(h.tasks))
	for t := range h.tasks {
		list = append(list, t)
	}
	return list
}

// progress tells the broker that the command is in our hands, unless it knew
// that after an instant.
func (t *task) progress(ctx context.Context, last time.Time) {
	t.telling <- struct{}{}
	defer func() { <-t.telling }()
	if t.over || t.kept.After(last) {
		return
	}
	if err := t.d.Progress(ctx); err == nil {
		t.kept = time.Now()
	}
}
