package effect

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/stream"
)

const (
	// mostInFlight bounds the commands of one effect that a node has in flight
	// (but for more calls at once), mostShared those that all nodes have, and
	// those that wait for another attempt or for a ban to end: others wait behind.
	mostInFlight = 1_000
	mostShared   = 100_000
	// mostDeliveries is more than what pauses and outages bring about: who must
	// not be tried for ever is counted by its mark.
	mostDeliveries = 100_000
	// ahead is for how long work is fetched beyond what is in flight: so that
	// quick calls do not wait for the broker, and slow ones are left to others.
	ahead = 100 * time.Millisecond
	// brokerPause is the pause after the broker could not be asked.
	brokerPause = time.Second
	// roomPause is after what time it is asked again whether there is room.
	roomPause = time.Second
	// banPause is after what time a command comes again that a ban on its context
	// holds up; longer each time up to mostBanPause, since there may be many.
	banPause     = 5 * time.Second
	mostBanPause = 30 * time.Second
)

// Durable is the consumer that all nodes share which have an effect.
func Durable(effect string) string { return "effect-" + effect }

// consumer takes the commands of one effect and tries them.
type consumer struct {
	w      *Worker
	e      *opened
	target *target
	// secrets are taken out of all that comes back.
	secrets *Secrets
	freed   chan struct{} // has an entry after a run has ended

	running sync.WaitGroup

	mu       sync.Mutex
	queue    stream.Queue // nil: not open
	inFlight int          // runs that have not ended here
	ending   int          // those of them whose end is known
	ended    int          // whose end became known since the last look
	looked   time.Time
	prefetch int
	badSince time.Time // since when marks cannot be read or written; zero: they can
}

func newConsumer(w *Worker, e *opened, t *target, secrets *Secrets) *consumer {
	return &consumer{w: w, e: e, target: t, secrets: secrets, freed: make(chan struct{}, 1), looked: time.Now()}
}

// run takes commands until ctx ends; calls ends what was begun. It returns
// when all that were taken have ended or were handed over to be finished.
func (c *consumer) run(ctx, calls context.Context) {
	defer c.running.Wait()
	for ctx.Err() == nil {
		err := c.serve(ctx, calls)
		if err != nil && ctx.Err() == nil {
			c.w.text.Warn("commands of an effect cannot be read; it is tried again", "effect", c.e.Name, "err", err)
			pause.For(ctx, jitter(brokerPause))
		}
	}
}

// serve opens the queue and takes commands until ctx ends, or the broker
// cannot be asked.
func (c *consumer) serve(ctx, calls context.Context) error {
	q, err := c.w.log.Work(ctx, stream.Shared{Durable: Durable(c.e.Name), Stream: domain.WorkflowCommands, Subjects: Subjects(c.e.Name),
		MaxInFlight: mostShared, AckWait: c.w.cfg.AckWait, MaxDeliver: mostDeliveries})
	if err != nil {
		return err
	}
	c.setQueue(q)
	defer func() {
		c.setQueue(nil)
		_ = q.Close()
	}()
	for ctx.Err() == nil {
		why, changed, again := c.held()
		if why != "" {
			waitFor(ctx, again, changed...)
			continue
		}
		room := c.room()
		if room == 0 {
			waitFor(ctx, 0, c.freed)
			continue
		}
		list, err := c.next(ctx, q, room, changed)
		if err != nil {
			return err
		}
		c.take(ctx, calls, list)
	}
	return nil
}

func (c *consumer) setQueue(q stream.Queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = q
}

// held says why no commands are taken now, what may change that, and when to
// look again.
func (c *consumer) held() (why string, changed []<-chan struct{}, again time.Duration) {
	if why, changed, again = c.paused(); why != "" {
		return why, changed, again
	}
	if d := c.target.open(); d > 0 {
		return "the breaker of " + c.e.Target + " is open", changed, d
	}
	return "", changed, 0
}

// paused is held, but for the breaker: why no commands would be taken if the target were well.
func (c *consumer) paused() (why string, changed []<-chan struct{}, again time.Duration) {
	may, mayChanged := c.w.cfg.May()
	bansChanged := c.w.cfg.Bans.Changed()
	changed = []<-chan struct{}{mayChanged, bansChanged}
	if !may {
		return "the node has lost the duty of an effect worker", changed, time.Hour
	}
	if err := c.w.cfg.Room(); err != nil {
		return err.Error(), changed, roomPause
	}
	if b, yes := c.w.cfg.Bans.Effect(0, c.e.Name, c.e.Target); yes {
		return b.Text(), changed, time.Minute // its time may be over by then
	}
	return "", changed, 0
}

// next waits for commands, until one of changed says that they may not be taken
// any more.
func (c *consumer) next(ctx context.Context, q stream.Queue, room int, changed []<-chan struct{}) ([]stream.Delivery, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // until next returns
		waitFor(ctx, 0, changed...)
		cancel()
	}()
	list, err := q.Next(ctx, room)
	if err != nil && ctx.Err() != nil {
		return nil, nil
	}
	return list, err
}

// room is how many commands may be taken now.
func (c *consumer) room() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since := time.Since(c.looked); since >= ahead {
		c.prefetch = min(int(int64(c.ended)*int64(ahead)/int64(since)), mostInFlight-1)
		c.ended, c.looked = 0, time.Now()
	}
	most := max(mostInFlight, c.target.most)
	room := min(c.target.most+c.prefetch-(c.inFlight-c.ending), most-c.inFlight, stream.MaxFetch)
	if room < c.prefetch/4 {
		return 0 // a few more, then many at once
	}
	return max(room, 0)
}

// came counts commands that are in flight from now on, and gone one that is no more.
func (c *consumer) came(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight += n
}

func (c *consumer) gone(t *run) {
	c.mu.Lock()
	c.inFlight--
	if t.known {
		c.ending--
	}
	c.mu.Unlock()
	c.free()
}

// knows counts a run whose end is known: it needs no call any more.
func (c *consumer) knows(t *run) {
	c.mu.Lock()
	c.ending++
	c.ended++
	t.known = true
	c.mu.Unlock()
	c.free()
}

// free tells that there may be room.
func (c *consumer) free() {
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// wrong says for how long all has gone wrong that is not the target's fault. What
// has been away for a moment is soon back, however often a command was tried.
func (c *consumer) wrong() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.badSince.IsZero() {
		c.badSince = time.Now()
	}
	return time.Since(c.badSince)
}

// well says that it does not.
func (c *consumer) well() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.badSince = time.Time{}
}

// take begins the commands that were delivered.
func (c *consumer) take(ctx, calls context.Context, list []stream.Delivery) {
	runs := make([]*run, 0, len(list))
	c.came(len(list))
	for _, d := range list {
		t := &run{consumer: c, d: d, m: d.Message(), telling: make(chan struct{}, 1)}
		c.w.inFlight.add(t)
		runs = append(runs, t)
	}
	runs = c.read(ctx, runs)
	for _, t := range runs {
		c.running.Go(func() { t.run(ctx, calls) })
	}
}

// read finds out what each command is, and what the board knows of it. Those
// that come to nothing are not returned: the broker is told of them meanwhile.
func (c *consumer) read(ctx context.Context, list []*run) []*run {
	bySpace := map[board.Space][]*run{}
	for _, t := range list {
		err := t.parse(ctx)
		b, banned := c.w.cfg.Bans.Effect(t.tenant, c.e.Name, c.e.Target)
		switch {
		case err != nil:
			c.running.Go(func() { t.turnDown(ctx, err) })
		case banned:
			c.w.text.Debug("command is held up by a ban", "effect", c.e.Name, "command", t.command.CommandID, "ban", b.String())
			c.running.Go(func() { t.again(jitter(min(banPause*time.Duration(t.d.Deliveries()), mostBanPause))) })
		case !c.w.inFlight.claim(t): // our silence was too long, or it was published twice
			c.running.Go(func() { t.again(jitter(c.w.cfg.AckWait / 2)) })
		default:
			bySpace[t.space] = append(bySpace[t.space], t)
		}
	}
	good := make([]*run, 0, len(list))
	for space, some := range bySpace {
		keys := make([]string, len(some))
		for i, t := range some {
			keys[i] = t.key
		}
		recs, bad, err := board.PerKey(c.w.board.Get(ctx, space, keys...))
		if err == nil {
			c.well()
		}
		for i, t := range some {
			if err := cmp.Or(err, bad[i]); err != nil {
				c.running.Go(func() { t.turnDown(ctx, err) })
				continue
			}
			t.mark = decodeMark(recs[i])
			good = append(good, t)
		}
	}
	return good
}

// waitFor waits until ctx ends, a time is over (0: none is set), or one of up
// to two channels has something or is closed; a nil one never does.
func waitFor(ctx context.Context, d time.Duration, changed ...<-chan struct{}) {
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	var two [2]<-chan struct{}
	copy(two[:], changed)
	select {
	case <-ctx.Done():
	case <-over:
	case <-two[0]:
	case <-two[1]:
	}
}
