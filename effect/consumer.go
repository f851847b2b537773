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
	lastErr  string
	lastAt   time.Time
	badSince time.Time // since when marks cannot be read or written; zero: they can
}

func newConsumer(w *Worker, e *opened, t *target, secrets *Secrets) *consumer {
	return &consumer{w: w, e: e, target: t, secrets: secrets, freed: make(chan struct{}, 1), looked: time.Now()}
}

// run takes commands until ctx ends; calls ends what was begun. It returns
// when all that were taken have ended or were handed over to be finished.
func (l *consumer) run(ctx, calls context.Context) {
	defer l.running.Wait()
	for ctx.Err() == nil {
		err := l.serve(ctx, calls)
		if err != nil && ctx.Err() == nil {
			l.w.text.Warn("commands of an effect cannot be read; it is tried again", "effect", l.e.Name, "err", err)
			pause.For(ctx, jitter(brokerPause))
		}
	}
}

// serve opens the queue and takes commands until ctx ends, or the broker
// cannot be asked.
func (l *consumer) serve(ctx, calls context.Context) error {
	q, err := l.w.log.Work(ctx, stream.Shared{Durable: Durable(l.e.Name), Stream: domain.WorkflowCommands, Subjects: Subjects(l.e.Name),
		MaxInFlight: mostShared, AckWait: l.w.cfg.AckWait, MaxDeliver: mostDeliveries})
	if err != nil {
		return err
	}
	l.setQueue(q)
	defer func() {
		l.setQueue(nil)
		_ = q.Close()
	}()
	for ctx.Err() == nil {
		why, changed, again := l.held()
		if why != "" {
			waitFor(ctx, again, changed...)
			continue
		}
		room := l.room()
		if room == 0 {
			waitFor(ctx, 0, l.freed)
			continue
		}
		list, err := l.next(ctx, q, room, changed)
		if err != nil {
			return err
		}
		l.take(ctx, calls, list)
	}
	return nil
}

func (l *consumer) setQueue(q stream.Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = q
}

// held says why no commands are taken now, what may change that, and when to
// look again.
func (l *consumer) held() (why string, changed []<-chan struct{}, again time.Duration) {
	may, mayChanged := l.w.cfg.May()
	bansChanged := l.w.cfg.Bans.Changed()
	changed = []<-chan struct{}{mayChanged, bansChanged}
	if !may {
		return "the node has lost the duty of an effect worker", changed, time.Hour
	}
	if err := l.w.cfg.Room(); err != nil {
		return err.Error(), changed, roomPause
	}
	if b, yes := l.w.cfg.Bans.Effect(0, l.e.Name, l.e.Target); yes {
		return b.Text(), changed, time.Minute // its time may be over by then
	}
	if d := l.target.open(); d > 0 {
		return "the breaker of " + l.e.Target + " is open", changed, d
	}
	return "", changed, 0
}

// next waits for commands, until one of changed says that they may not be taken
// any more.
func (l *consumer) next(ctx context.Context, q stream.Queue, room int, changed []<-chan struct{}) ([]stream.Delivery, error) {
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
func (l *consumer) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := time.Since(l.looked); since >= ahead {
		l.prefetch = min(int(int64(l.ended)*int64(ahead)/int64(since)), mostInFlight-1)
		l.ended, l.looked = 0, time.Now()
	}
	most := max(mostInFlight, l.target.most)
	room := min(l.target.most+l.prefetch-(l.inFlight-l.ending), most-l.inFlight, stream.MaxFetch)
	if room < l.prefetch/4 {
		return 0 // a few more, then many at once
	}
	return max(room, 0)
}

// came counts commands that are in flight from now on, and gone one that is no more.
func (l *consumer) came(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight += n
}

func (l *consumer) gone(t *run) {
	l.mu.Lock()
	l.inFlight--
	if t.known {
		l.ending--
	}
	l.mu.Unlock()
	l.free()
}

// knows counts a run whose end is known: it needs no call any more.
func (l *consumer) knows(t *run) {
	l.mu.Lock()
	l.ending++
	l.ended++
	t.known = true
	l.mu.Unlock()
	l.free()
}

// free tells that there may be room.
func (l *consumer) free() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// failed keeps the last error for people.
func (l *consumer) failed(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastErr, l.lastAt = text, time.Now()
}

// wrong says for how long all has gone wrong that is not the target's fault. What
// has been away for a moment is soon back, however often a command was tried.
func (l *consumer) wrong() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.badSince.IsZero() {
		l.badSince = time.Now()
	}
	return time.Since(l.badSince)
}

// well says that it does not.
func (l *consumer) well() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.badSince = time.Time{}
}

// take begins the commands that were delivered.
func (l *consumer) take(ctx, calls context.Context, list []stream.Delivery) {
	runs := make([]*run, 0, len(list))
	l.came(len(list))
	for _, d := range list {
		t := &run{consumer: l, d: d, m: d.Message(), telling: make(chan struct{}, 1)}
		l.w.inFlight.add(t)
		runs = append(runs, t)
	}
	runs = l.read(ctx, runs)
	for _, t := range runs {
		l.running.Go(func() { t.run(ctx, calls) })
	}
}

// read finds out what each command is, and what the board knows of it. Those
// that come to nothing are not returned: the broker is told of them meanwhile.
func (l *consumer) read(ctx context.Context, list []*run) []*run {
	bySpace := map[board.Space][]*run{}
	for _, t := range list {
		err := t.parse(ctx)
		b, banned := l.w.cfg.Bans.Effect(t.tenant, l.e.Name, l.e.Target)
		switch {
		case err != nil:
			l.running.Go(func() { t.turnDown(ctx, err) })
		case banned:
			l.w.text.Debug("command is held up by a ban", "effect", l.e.Name, "command", t.command.CommandID, "ban", b.String())
			l.running.Go(func() { t.again(jitter(min(banPause*time.Duration(t.d.Deliveries()), mostBanPause))) })
		case !l.w.inFlight.claim(t): // our silence was too long, or it was published twice
			l.running.Go(func() { t.again(jitter(l.w.cfg.AckWait / 2)) })
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
		recs, bad, err := board.PerKey(l.w.board.Get(ctx, space, keys...))
		if err == nil {
			l.well()
		}
		for i, t := range some {
			if err := cmp.Or(err, bad[i]); err != nil {
				l.running.Go(func() { t.turnDown(ctx, err) })
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
