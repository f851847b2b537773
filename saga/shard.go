package saga

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/stream"
)

const (
	// fetchMost is how many messages one look at a stream takes, and roundMost
	// how many are dealt with in one round.
	fetchMost = 256
	roundMost = 512

	// feedWait is how long is waited for what a stream has more, before the turn of what
	// was put aside: the next messages are on their way while a round is dealt with.
	feedWait = 5 * time.Millisecond

	// saveAfter is how many messages may be passed over before the position is
	// written though nothing else is, and saveEvery the longest time.
	saveAfter = 5_000
	saveEvery = 10 * time.Second
)

var (
	// errLost ends a shard that another worker has now, or may have.
	errLost = errors.New("the partition's lease is lost: another worker has it, or it could not be renewed in time")
	// errNewer ends one whose definition has a newer version: that may read
	// other subjects.
	errNewer = errors.New("there is a newer version of the saga")
)

// shardOf names a partition of a saga.
type shardOf struct {
	tenant    domain.TenantID
	saga      string
	partition int
	of        int // partitions that there are
}

func (s shardOf) String() string {
	return fmt.Sprintf("%d:%s:%d/%d", s.tenant, s.saga, s.partition, s.of)
}

// has reports whether an instance is of this partition.
func (s shardOf) has(correlation string) bool { return partitionOf(correlation, s.of) == s.partition }

// partitionOf is that of an instance, where there are so many.
func partitionOf(correlation string, of int) int {
	if of == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(correlation)) // never fails
	return int(h.Sum32() % uint32(of))
}

// shard is a partition of a saga while this worker holds it.
type shard struct {
	shardOf
	lease.Item
	e        *Engine
	name     string // the tenant's, as keys and subjects have it
	keys     layout.SagaKeys
	space    board.Space
	record   string // by which it is held
	owner    string
	lease    time.Duration
	leases   *lease.Renewer[*shard]
	gateways *gateways
	newest   *compiled // when it was opened

	positions *positions
	before    []earlier
	sources   []*source
	in        chan fetched
	relay     *relay
	sends     atomic.Pointer[relay] // the same, for others to look at
	crashLoop crashLoop
	catching  bool // it reads what was there when it was opened, in order
}

// source is a stream that a shard reads.
type source struct {
	name     domain.StreamName
	subjects []string
	field    string
	saved    progress // on the board
	written  written  // the same as it stands there
	seen     progress // in memory: what is behind it need not be read again
	reader   stream.Reader
	failing  time.Time // since when it cannot be opened
	told     bool      // the board says so

	kept     []pending // that were put aside and are at hand
	keptSize int       // in bytes
	keptTo   uint64    // all that were put aside up to here are at hand
}

// written is a progress as it stands on the board: the position, and what was put
// aside; "" where there is none.
type written struct{ position, aside string }

type fetched struct {
	from     *source
	reader   stream.Reader
	messages []stream.Message
}

// run holds the partition and moves its instances. When stop is closed it
// takes no more events, sends what is in its outbox for as long as stop's
// patience, lets go and returns nil; when ctx ends it leaves everything as it
// is.
//
// Errors: errLost; [domain.ErrConflict] while another holds it;
// [domain.ErrUnavailable].
func (s *shard) run(ctx context.Context, stop *stop) error {
	began := time.Now()
	token, err := s.e.board.Occupy(ctx, s.space, s.record, s.owner, s.lease)
	if err != nil {
		return err
	}
	s.leases.Begin(ctx, s, board.Claimed{Space: s.space, Item: s.record, Token: token}, began)
	s.leases.Add(s)
	defer s.leases.Remove(s)
	held := s.Ctx
	take, noMore := context.WithCancel(held)
	defer noMore()

	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		well := time.NewTimer(wellAfter)
		defer well.Stop()
		for told := false; !told; {
			select {
			case <-well.C:
				if rest, err := s.well(held, time.Since(began)); err != nil || rest > 0 {
					well.Reset(max(rest, wellAfter))
				}
			case <-stop.told:
				told = true
			case <-ended:
				return
			}
		}
		noMore()
		// Its outbox is not worth waiting for any longer: others have it.
		if pause.For(held, stop.patience) == nil {
			s.Stop(nil)
		}
	}()
	err = s.work(held, take)
	close(ended)
	if cause := context.Cause(held); errors.Is(cause, errLost) {
		err = cause
	}
	s.Stop(nil)
	<-watched
	if errors.Is(err, errLost) || ctx.Err() != nil {
		return err
	}
	b := board.Batch{Space: s.space}
	b.Held(s.record, s.owner, s.Claimed.Token).Release(s.record)
	switch {
	case err == nil:
		b.Unset(s.record, fieldLives, fieldLife, fieldFailing, fieldFailingBy, fieldFailingTook)
	case !errors.Is(err, errNewer):
		s.fails(ctx, &b, time.Since(began))
	}
	if lost := s.e.board.Commit(ctx, b); errors.Is(lost, domain.ErrConflict) {
		return errLost
	}
	return err // where it was not let go it runs out
}

// Fields of the shard's record, there while workers have the partition for moments only.
const (
	fieldFailing     = "failing_ms"      // since when
	fieldFailingBy   = "failing_by"      // the owner of the last one
	fieldFailingTook = "failing_took_ms" // for how long that one had it
)

// fieldUnread begins the fields, one for each stream, since when the worker that has the partition cannot read it; there
// once that is so for blindAfter.
const (
	fieldUnread = "unread_ms/"
	blindAfter  = 10 * time.Second
)

const (
	// wellAfter is for how long a worker must have had a partition to be one that has it: at least so long, and twice
	// as long as the last one had it that failed, up to wellMost. What fails by a time-out fails late each time.
	wellAfter = 5 * time.Second
	wellMost  = time.Minute
)

// well takes back that workers have the partition for moments only, or returns for how much longer this one must have it.
func (s *shard) well(ctx context.Context, had time.Duration) (rest time.Duration, err error) {
	recs, err := s.e.board.GetFields(ctx, s.space, []string{fieldFailing, fieldFailingTook}, s.record)
	if err != nil || recs[0].Get(fieldFailing) == "" {
		return 0, err
	}
	took, _ := strconv.ParseInt(recs[0].Get(fieldFailingTook), 10, 64)
	if rest = min(2*time.Duration(took)*time.Millisecond, wellMost) - had; rest > 0 {
		return rest, nil
	}
	b := board.Batch{Space: s.space}
	return 0, s.e.board.Commit(ctx, *b.Held(s.record, s.owner, s.Claimed.Token).Unset(s.record, fieldFailing, fieldFailingBy, fieldFailingTook))
}

// fails adds to a batch that this worker could not go on with the partition, and leaves since when that is so.
func (s *shard) fails(ctx context.Context, b *board.Batch, had time.Duration) {
	recs, err := s.e.board.GetFields(ctx, s.space, []string{fieldFailing}, s.record)
	if err != nil {
		return // the next that fails says so
	}
	if recs[0].Get(fieldFailing) == "" {
		b.Set(s.record, board.Field{Name: fieldFailing, Value: strconv.FormatInt(s.e.board.Now().UnixMilli(), 10)})
	}
	b.Set(s.record, board.Field{Name: fieldFailingBy, Value: s.owner}, board.Field{Name: fieldFailingTook, Value: strconv.FormatInt(had.Milliseconds(), 10)})
}

// work reads and moves until take ends, then empties the outbox.
func (s *shard) work(ctx, take context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	take, noMore := context.WithCancel(take)
	defer noMore()
	feeds, feeding := errgroup.WithContext(take)
	s.in = make(chan fetched)
	sending, endRelay := context.WithCancel(ctx)
	defer endRelay()
	relayed := make(chan error, 1)
	go func() {
		err := s.relay.run(sending, take.Done())
		noMore() // nothing is taken that cannot be sent
		relayed <- err
	}()

	err := s.catchUp(ctx, feeding)
	if err == nil {
		for _, src := range s.sources {
			at := src.seen.front
			feeds.Go(func() error { return s.feed(feeding, src, at) })
		}
		err = s.rounds(ctx, feeding)
	}
	noMore()
	if fed := feeds.Wait(); err == nil && !errors.Is(fed, context.Canceled) {
		err = fed
	}
	if err != nil {
		endRelay()
	}
	if sent := <-relayed; err == nil {
		err = sent
	}
	return err
}

// open reads how far the partition has come.
func (s *shard) open(ctx context.Context) (err error) {
	if s.positions, err = s.e.positions(ctx, s.tenant, s.name, s.saga); err != nil {
		return err
	}
	p := s.positions
	if len(p.list) == 0 {
		return domain.NotFoundf("saga %s has no positions: it is being deleted, or applied", s.saga)
	}
	if p.now().Route != routeOf(s.newest.def) || p.now().Of != s.of {
		return s.newer(ctx)
	}
	was, err := s.countLife(ctx)
	if err != nil {
		return err
	}
	if err := s.earlier(ctx); err != nil {
		return err
	}
	last := len(p.list) - 1
	if last > 0 && s.partition == 0 && p.list[last-1].Of != s.of && p.written(last, domain.WorkflowCommands, 0).position == "" {
		s.dropConsumers(ctx, p.list[last-1].Of) // the first time that somebody is here
	}
	for _, n := range read {
		if len(p.now().Reads[n]) == 0 {
			continue
		}
		src := &source{name: n, subjects: p.now().Reads.filters(n, prefixes(s.tenant, s.name)), field: fieldOf(p.now(), n, s.partition),
			written: p.written(last, n, s.partition), saved: p.at(last, n, s.partition), told: was.Get(fieldUnread+string(n)) != ""}
		src.seen, src.keptTo = src.saved, src.saved.back
		s.sources = append(s.sources, src)
	}
	s.relay = newRelay(s)
	s.sends.Store(s.relay)
	return s.relay.load(ctx, p.indexes(s.keys, s.saga))
}

// dropConsumers has the broker forget those of partitions that are gone. One
// that stays does no harm.
func (s *shard) dropConsumers(ctx context.Context, of int) {
	for q := range of {
		for _, n := range read {
			_ = s.e.log.Drop(ctx, n, consumerName(shardOf{tenant: s.tenant, saga: s.saga, partition: q, of: of}, n))
		}
	}
}

// newer sees to it that everybody knows of the newest definition.
func (s *shard) newer(ctx context.Context) error {
	if err := s.e.settle(ctx, s.tenant, s.name, s.saga, beginning{}); err != nil {
		return err
	}
	return errNewer
}

// durable is the name of the consumer of a stream.
func (s *shard) durable(n domain.StreamName) string { return consumerName(s.shardOf, n) }

func consumerName(s shardOf, n domain.StreamName) string {
	return fmt.Sprintf("saga-%d-%s-%d-%d-%s", s.tenant, s.saga, s.of, s.partition, shortNames[n])
}

var shortNames = map[domain.StreamName]string{domain.AggregateEvents: "events", domain.WorkflowCommands: "commands", domain.WorkflowEvents: "results"}

// feed hands over what a stream has behind a position. While that cannot be
// reached it tries again: work that is in the outbox may go elsewhere.
func (s *shard) feed(ctx context.Context, src *source, at uint64) error {
	for wait := pauseMin; ; wait = min(2*wait, pauseMax) {
		got, err := s.feedFrom(ctx, src, &at)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, domain.ErrConflict):
			return errLost
		case !errors.Is(err, domain.ErrUnavailable):
			return err
		case got:
			wait = pauseMin
		}
		s.e.text.Log(ctx, again(wait), "a stream cannot be read; it is tried again", "context", uint32(s.tenant), "saga", s.saga,
			"partition", s.partition, "stream", src.name, "err", err)
		s.failed(ctx, src)
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
}

// feedFrom hands over what there is behind at, and moves that; got is whether
// there was anything.
func (s *shard) feedFrom(ctx context.Context, src *source, at *uint64) (got bool, err error) {
	reader, err := s.reader(ctx, src, *at)
	if err != nil {
		return false, err
	}
	defer reader.Close()
	s.opened(ctx, src)
	for {
		list, err := reader.Next(ctx, fetchMost)
		if err != nil {
			return got, err
		}
		select {
		case s.in <- fetched{src, reader, list}:
		case <-ctx.Done():
			return got, ctx.Err()
		}
		got, *at = true, list[len(list)-1].Seq
	}
}

// failed has the board say, to those who ask why the partition stands still, since when its worker cannot read a stream.
func (s *shard) failed(ctx context.Context, src *source) {
	if src.failing.IsZero() {
		src.failing = s.e.board.Now()
	}
	if !src.told && s.e.board.Now().Sub(src.failing) >= blindAfter {
		src.told = s.note(ctx, func(b *board.Batch) {
			b.Set(s.record, board.Field{Name: fieldUnread + string(src.name), Value: strconv.FormatInt(src.failing.UnixMilli(), 10)})
		})
	}
}

// opened takes that back, also what the worker before has left.
func (s *shard) opened(ctx context.Context, src *source) {
	src.failing = time.Time{}
	if src.told {
		src.told = !s.note(ctx, func(b *board.Batch) { b.Unset(s.record, fieldUnread+string(src.name)) })
	}
}

// note writes to the partition's record while this worker has it, and says whether it did.
func (s *shard) note(ctx context.Context, do func(b *board.Batch)) bool {
	b := board.Batch{Space: s.space}
	do(b.Held(s.record, s.owner, s.Claimed.Token))
	return s.e.board.Commit(ctx, b) == nil
}

// reader opens a consumer. Those of a context are opened one after the other: all
// partitions of its sagas come at once when a node starts, or the streams are
// back, and whoever else wants something of them would wait until all are there.
func (s *shard) reader(ctx context.Context, src *source, after uint64) (stream.Reader, error) {
	done, err := s.e.opens.Take(ctx, s.tenant)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.e.log.Read(ctx, stream.Consumer{
		Durable: s.durable(src.name), Stream: src.name, Subjects: src.subjects, After: after, MaxInFlight: 4 * fetchMost,
	})
}

// rounds deals with what is fed, as much at once as there is, until feeding
// ends.
func (s *shard) rounds(ctx, feeding context.Context) error {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	fed := 0                     // new messages since what was put aside had its turn
	quiet := false               // nothing new came when it was last waited for
	var stalled <-chan time.Time // what was put aside could not be read
	for {
		if s.relay.admit(feeding) != nil {
			return s.save(ctx)
		}
		var idle <-chan time.Time // nothing new comes: it is the turn of what was put aside
		if stalled == nil && s.putAside() {
			idle = passed
			if !quiet {
				idle = time.After(feedWait)
			}
		}
		var list []fetched
		select {
		case f := <-s.in:
			list = append(list, f)
		case <-idle:
		case <-stalled:
			stalled = nil
			continue
		case <-tick.C:
			if err := s.save(ctx); err != nil {
				return err
			}
			continue
		case <-feeding.Done():
			return s.save(ctx)
		}
		// Asked after the wait: a ban counts from when it is there.
		if s.mayGoOn(feeding) != nil {
			return s.save(ctx)
		}
		list = s.gather(list)
		quiet = len(list) == 0
		var todo []pending
		for _, f := range list {
			fed += len(f.messages)
		}
		if len(list) == 0 || fed >= lateEvery {
			late, ready, err := s.late(ctx, lateShares*s.e.cfg.Share)
			if err != nil {
				return err
			}
			if !ready {
				stalled = time.After(time.Second)
			}
			todo, fed = late, 0
		}
		for _, f := range list {
			f.from.reader = f.reader
			for i := range f.messages {
				todo = append(todo, pending{from: f.from, m: f.messages[i], seq: f.messages[i].Seq})
			}
		}
		if err := s.handle(ctx, todo); err != nil {
			return err
		}
		for _, src := range s.sources {
			src.forget()
		}
	}
}

// passed is a time that has.
var passed = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// gather adds what is fed at this moment, up to what one round deals with.
func (s *shard) gather(list []fetched) []fetched {
	n := 0
	for _, f := range list {
		n += len(f.messages)
	}
	for n < roundMost {
		select {
		case f := <-s.in:
			list, n = append(list, f), n+len(f.messages)
		default:
			return list
		}
	}
	return list
}

// mayGoOn waits while the saga is banned.
func (s *shard) mayGoOn(ctx context.Context) error {
	for {
		banned, changed := s.e.cfg.Banned(s.tenant, s.saga)
		if !banned {
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// save writes positions that are ahead of what is written.
func (s *shard) save(ctx context.Context) error {
	c := s.chunk()
	for _, src := range s.sources {
		if src.seen.front > src.saved.front || src.seen.back > src.saved.back || src.written.position == "" {
			c.upTo[src] = src.seen
			c.move(s, src, src.written, src.seen.written())
		}
	}
	if len(c.Ops) == 0 || ctx.Err() != nil {
		return nil
	}
	if err := s.e.board.Commit(ctx, c.Batch); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.saved(c.upTo)
	return nil
}

// saved is told of positions that are on the board now.
func (s *shard) saved(upTo map[*source]progress) {
	for src, at := range upTo {
		src.saved, src.written = at, at.written()
	}
}

// worthSaving reports whether so much was passed over since the last commit
// that it should not be read again.
func (s *shard) worthSaving(upTo map[*source]progress) bool {
	for src, at := range upTo {
		if at.front-src.saved.front > saveAfter || at.back-src.saved.back > saveAfter {
			return true
		}
	}
	return false
}

// done tells the brokers how far the partition has come.
func (s *shard) done(ctx context.Context, upTo map[*source]progress) error {
	for src, at := range upTo {
		front := at.front > src.seen.front
		src.seen = at
		if src.reader == nil || !front {
			continue
		}
		if err := src.reader.Done(ctx, at.front); err != nil && !errors.Is(err, domain.ErrUnavailable) {
			return err
		}
	}
	return nil
}

// sequence is a position as the checkpoint has it.
func sequence(n uint64) string { return strconv.FormatUint(n, 10) }
