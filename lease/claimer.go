package lease

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
)

// Source is where a claimer has its items from.
type Source[W Doing] interface {
	// Open waits until the claimer may claim; false is that ctx has ended.
	Open(ctx context.Context) bool
	// Room is how many of the free slots the next claim may fill. 0 is none, until
	// [Claimer.Wake] is called or a slot becomes free.
	Room(free int) int
	// Claim waits for up to n items.
	Claim(ctx context.Context, n int) ([]board.Claimed, error)
	// Work is the work on an item, which is not begun yet.
	Work(c board.Claimed) W
	// Begin is told of work that begins now: all that a claim brought.
	Begin(list []W)
	// Failed is told that the board could not be asked.
	Failed(err error)
}

// Claimer serves one kind of items: a number of slots and a loop that fills them.
type Claimer[W Doing] struct {
	r     *Runner[W]
	from  Source[W]
	freed chan struct{} // a slot became free; capacity 1
	// idle hands work to goroutines that have ended some: their stacks have grown
	// already. Closed when the claimer takes no more.
	idle chan W

	mu   sync.Mutex
	free int
}

// maxClaim is how many items one claim takes at the most: enough to make its cost
// small, few enough that other nodes get their share.
const maxClaim = 256

// run fills the slots until ctx ends. What it starts runs under hard.
func (l *Claimer[W]) run(ctx, hard context.Context) {
	defer close(l.idle)
	Take(ctx, l.claim, func(claimed []board.Claimed) { l.start(hard, claimed) }, l.from.Failed)
}

func (l *Claimer[W]) claim(ctx context.Context) ([]board.Claimed, error) {
	if !l.from.Open(ctx) {
		return nil, nil
	}
	n := l.takeSlots()
	if n == 0 {
		select {
		case <-l.freed:
		case <-ctx.Done():
		}
		return nil, nil
	}
	claimed, err := l.from.Claim(ctx, n)
	if err != nil {
		claimed = nil
	}
	l.giveSlots(n - len(claimed))
	return claimed, err
}

// takeSlots takes the slots that the next claim may fill.
func (l *Claimer[W]) takeSlots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.from.Room(min(l.free, maxClaim))
	l.free -= n
	return n
}

func (l *Claimer[W]) giveSlots(n int) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	l.free += n
	l.mu.Unlock()
	l.Wake()
}

// Wake has the claimer look again how much it may take.
func (l *Claimer[W]) Wake() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

func (l *Claimer[W]) start(hard context.Context, claimed []board.Claimed) {
	begun := time.Now()
	list := make([]W, len(claimed))
	for i, c := range claimed {
		list[i] = l.from.Work(c)
		l.r.Begin(hard, list[i], c, begun)
	}
	l.r.Add(list...)
	l.from.Begin(list)
	l.r.busy.Add(len(list))
	for _, w := range list {
		select {
		case l.idle <- w:
		default:
			go l.work(w)
		}
	}
}

// close is the end of work that was not written with others.
func (l *Claimer[W]) close(w W, err error) {
	l.giveSlots(1)
	l.r.close(w, err)
}

// work does one item after the other, until the claimer takes no more.
func (l *Claimer[W]) work(w W) {
	for more := true; more; w, more = <-l.idle {
		if w.Do() {
			l.r.ends <- done[W]{w, l}
		} else {
			l.close(w, nil)
		}
	}
}
