package post

import (
	"context"
	"runtime"
	"sync"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

const (
	// claimMost is how many messages are taken at once.
	claimMost = 256
	// receivers is how many parcels of a bus are dealt with at once.
	receivers = 4
	// outLoops, inLoops are how many claims of a queue are dealt with at once:
	// while one waits for the disk the other checks signatures.
	outLoops = 2
	inLoops  = 2
)

// Supervisor is the role that sends what is in msg_out and takes in what comes.
//
// Source: seed 000, "Supervisor daemon".
type Supervisor struct {
	*Engine
	owner string

	replies replies
}

// Supervise returns a supervisor. owner is written on leases; it must differ
// for each life of a process.
func (e *Engine) Supervise(owner string) *Supervisor {
	return &Supervisor{Engine: e, owner: owner, replies: replies{waiting: map[string]*pending{}}}
}

// Run sends and receives until ctx ends.
func (s *Supervisor) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range outLoops {
		s.loop(ctx, &all, s.handOver, queue.MsgOut, queue.PostPush)
	}
	for range inLoops {
		s.loop(ctx, &all, s.consume, queue.MsgIn)
	}
	s.loop(ctx, &all, s.answer, queue.PostResult)
	s.loop(ctx, &all, s.sendJobs, queue.PostJobs)
	s.loop(ctx, &all, s.sendNotes, queue.PostLogs)
	for _, b := range s.cfg.Buses {
		for range receivers {
			all.Go(func() { s.receiveFrom(ctx, b) })
		}
	}
	all.Wait()
	s.replies.all.Wait()
	return nil
}

// loop claims from queues, in order, and lets take deal with what came. What is
// begun outlives ctx: it is short.
func (s *Supervisor) loop(ctx context.Context, all *sync.WaitGroup, take func(context.Context, []board.Claimed), queues ...string) {
	ask := board.Ask{Max: claimMost, Owner: s.owner, Lease: s.cfg.Lease, Wait: lease.Wait}
	for _, q := range queues {
		ask.Queues = append(ask.Queues, board.Queue{Lists: []string{q}})
	}
	all.Go(func() {
		lease.Take(ctx, func(ctx context.Context) ([]board.Claimed, error) { return s.board.Claim(ctx, ask) },
			func(claimed []board.Claimed) { take(context.WithoutCancel(ctx), claimed) },
			func(err error) { s.log.Warn("no message taken", "queues", queues, "err", err) })
	})
}

// receiveFrom takes parcels from a bus.
func (s *Supervisor) receiveFrom(ctx context.Context, b bus.Bus) {
	for ctx.Err() == nil {
		p, err := b.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("no parcel taken", "bus", b.Scheme(), "err", err)
				pause.For(ctx, lease.Rest)
			}
			continue
		}
		work := context.WithoutCancel(ctx)
		if err := s.open(work, p); err != nil {
			// Not done: the bus gives it again, or the sender pushes again.
			s.log.Warn("parcel not dealt with; it comes again", "bus", b.Scheme(), "err", err)
			pause.For(ctx, lease.Rest)
			continue
		}
		if err := p.Done(work); err != nil {
			s.log.Debug("parcel not taken off the bus; it comes again", "bus", b.Scheme(), "err", err)
		}
	}
}

// heldBatch begins a commit that only the holder of a claimed item can make.
func (s *Supervisor) heldBatch(c *board.Claimed) board.Batch {
	b := board.Batch{Space: c.Space}
	b.Held(c.Item, s.owner, c.Token)
	return b
}

// letGo releases an item, and puts it where add says.
func (s *Supervisor) letGo(ctx context.Context, c *board.Claimed, add func(*board.Batch)) {
	b := s.heldBatch(c)
	release(&b, c)
	if add != nil {
		add(&b)
	}
	// Where this fails the lease runs out.
	_ = s.board.Commit(ctx, b)
}

// release adds to b that an item goes. Of one that names nothing, the record that
// its claim has made goes with it.
func release(b *board.Batch, c *board.Claimed) {
	b.Release(c.Item)
	if c.Record.Bare() {
		b.Unset(c.Item, board.FieldAttempt)
	}
}

// abreast is how many messages are dealt with at once: most of it is waiting for
// commits, which the board gathers.
const abreast = 64

// together does n things, so many at once.
func together(n, atOnce int, do func(i int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range min(n, atOnce) {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// processors is how many signatures are checked at once.
func processors() int { return runtime.GOMAXPROCS(0) }
