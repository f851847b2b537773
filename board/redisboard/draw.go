package redisboard

import (
	"context"
	"strconv"
	"sync"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// maxShared is how many numbers somebody may ask for and still share a call.
// What might exhaust a counter goes alone, and alone is refused.
const maxShared = 1 << 20

// counter is a counter of a space.
type counter struct {
	space board.Space
	key   string
}

// draw is one caller's wish for numbers.
type draw struct {
	n     int
	first int64
	err   error
	done  chan struct{} // closed when it is answered
}

// draws are the calls that take numbers from counters, one at once for each.
// Who comes meanwhile shares the next: callers that submit one by one would
// otherwise cost the server two calls each.
type draws struct {
	mu      sync.Mutex
	waiting map[counter][]*draw // an entry, also an empty one: a call is under way
}

func (d *draws) init() { d.waiting = map[counter][]*draw{} }

// begin returns nil when no call for the counter is under way: then it is the
// caller's to make. Else the caller waits for the draw to be done.
func (d *draws) begin(c counter, n int) *draw {
	d.mu.Lock()
	defer d.mu.Unlock()
	group, busy := d.waiting[c]
	if !busy {
		d.waiting[c] = nil
		return nil
	}
	w := &draw{n: n, done: make(chan struct{})}
	d.waiting[c] = append(group, w)
	return w
}

// end ends a call, and returns those whom the next one is for.
func (d *draws) end(c counter) []*draw {
	d.mu.Lock()
	defer d.mu.Unlock()
	group := d.waiting[c]
	if len(group) == 0 {
		delete(d.waiting, c)
	} else {
		d.waiting[c] = nil
	}
	return group
}

// Next implements [board.Board].
func (b *Board) Next(ctx context.Context, space board.Space, key string, n int) (int64, error) {
	if n < 0 {
		return 0, domain.Invalidf("reserve %d numbers of %q, want 1 or more, or 0 to see which comes next", n, key)
	}
	if err := b.checkKey(ctx, space, key); err != nil {
		return 0, err
	}
	c := counter{space, key}
	if n > maxShared || n == 0 {
		return b.next(ctx, c, n)
	}
	if w := b.draws.begin(c, n); w != nil {
		select {
		case <-w.done:
			return w.first, w.err
		case <-ctx.Done():
			return 0, ctx.Err() // its numbers are lost, as after any failure
		}
	}
	first, err := b.next(ctx, c, n)
	if group := b.draws.end(c); len(group) > 0 {
		go b.drawFor(c, group)
	}
	return first, err
}

// drawFor makes calls until nobody waits for one.
func (b *Board) drawFor(c counter, group []*draw) {
	for ; len(group) > 0; group = b.draws.end(c) {
		sum := 0
		for _, w := range group {
			sum += w.n
		}
		first, err := b.next(context.Background(), c, sum)
		for _, w := range group {
			w.first, w.err = first, err
			first += int64(w.n)
			close(w.done)
		}
	}
}

func (b *Board) next(ctx context.Context, c counter, n int) (int64, error) {
	if n == 0 {
		m, err := b.read(ctx, "last", c.space, c.key)
		if err != nil {
			return 0, err
		}
		last, err := m.AsInt64()
		return last + 1, b.translate(err)
	}
	answer, err := b.look(ctx, 2, "next", c.space, c.key, strconv.Itoa(n))
	if err != nil {
		return 0, err
	}
	b.hearGiven(&answer[1])
	last, err := answer[0].AsInt64()
	return last - int64(n) + 1, b.translate(err)
}
