// Package faultboard puts faults between a board and who uses it, for tests
// and simulations: calls that are refused, calls that are done but whose
// answer is lost, delays, outages, and points at which a test lets a node
// crash.
//
// A fault is what a real board may do by its contract, nothing else: an error
// of kind [domain.ErrUnavailable], after which a change may or may not have
// been made. Reads are refused or delayed, never wrong.
package faultboard

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Config says which faults there are. The zero Config has none.
type Config struct {
	// Seed decides which calls the chances below strike. The same seed and
	// the same order of calls give the same faults.
	Seed uint64
	// Refuse is the chance, 0 to 1, that a call fails without being done.
	Refuse float64
	// Lose is the chance, 0 to 1, that a changing call is done, but answers
	// that it may not have been.
	Lose float64
	// Delay is the longest time a call is held up before it is done; each
	// call draws its own.
	Delay time.Duration
	// Before is called before each change, After after each that was done
	// without an error. What they return instead of nil becomes the call's
	// error: a change with an error from Before is not made, one with an error
	// from After is. They may block: a node that is stopped between two
	// commits. They are called by many goroutines at once.
	Before, After func(ctx context.Context, call Call) error
}

// Call is a changing call on its way.
type Call struct {
	// Name is commit, claim, extend, occupy, void or next. Each batch of a
	// CommitEach is a commit.
	Name string
	// Batch is what is committed; nil for other calls.
	Batch *board.Batch
}

// Board is a board with faults.
type Board struct {
	board.Board
	cfg Config

	mu   sync.Mutex
	rand *rand.Rand
	calm bool
	link context.Context // ends when the link is cut
	cut  context.CancelFunc
}

var _ board.Board = (*Board)(nil)

// New puts faults before b. Closing the one closes the other.
func New(b board.Board, cfg Config) *Board {
	f := &Board{Board: b, cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0))}
	f.Heal()
	return f
}

// Cut begins an outage: every call fails, also those that wait.
func (b *Board) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut()
}

// Heal ends an outage.
func (b *Board) Heal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.link == nil || b.link.Err() != nil {
		b.link, b.cut = context.WithCancel(context.Background())
	}
}

// Calm ends the faults by chance and the delays, for good.
func (b *Board) Calm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calm = true
}

// fate is what chance has in store for one call.
type fate struct {
	link   context.Context
	delay  time.Duration
	refuse bool
	lose   bool
}

func (b *Board) draw() fate {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := fate{link: b.link}
	if b.calm {
		return f
	}
	// Always three draws, so that one chance does not move the others' luck.
	refuse, lose, delay := b.rand.Float64(), b.rand.Float64(), b.rand.Float64()
	f.refuse, f.lose = refuse < b.cfg.Refuse, lose < b.cfg.Lose
	f.delay = time.Duration(delay * float64(b.cfg.Delay))
	return f
}

func errRefused() error { return domain.Unavailablef("the board cannot be reached") }
func errLost() error    { return domain.Unavailablef("the board's answer was lost") }

// read does a call that changes nothing.
func read[T any](ctx context.Context, b *Board, do func(ctx context.Context) (T, error)) (T, error) {
	return through(ctx, b.draw(), do)
}

// through does a call after its delay, over a link that may be cut meanwhile.
func through[T any](ctx context.Context, f fate, do func(ctx context.Context) (T, error)) (T, error) {
	var none T
	if f.delay > 0 {
		t := time.NewTimer(f.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return none, ctx.Err()
		case <-f.link.Done():
		}
	}
	if f.refuse || f.link.Err() != nil {
		return none, cmp.Or(ctx.Err(), errRefused())
	}
	linked, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.link, cancel)()
	v, err := do(linked)
	if f.link.Err() != nil {
		return none, cmp.Or(ctx.Err(), errLost())
	}
	return v, err
}

// change does a call that changes something.
func change[T any](ctx context.Context, b *Board, call Call, do func(ctx context.Context) (T, error)) (T, error) {
	var none T
	f := b.draw()
	if b.cfg.Before != nil {
		if err := b.cfg.Before(ctx, call); err != nil {
			return none, err
		}
	}
	v, err := through(ctx, f, do)
	if err != nil {
		return v, err
	}
	if b.cfg.After != nil {
		if err := b.cfg.After(ctx, call); err != nil {
			return none, err
		}
	}
	if f.lose {
		return none, errLost()
	}
	return v, nil
}
