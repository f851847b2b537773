package saga

import (
	"github.com/ramet-run/ramet/tracing"

	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// A chunk is closed when it has so many guards and operations, or bytes. One
// event more must always fit.
const (
	chunkOps   = board.MaxOps - eventOps
	chunkBytes = 512 << 10
	// eventOps is what an event may come to: its work items; timers that are set
	// and as many cleared, two each, with the one by which it goes on; dead letters
	// of itself and what it lets go on; the instance, marks and positions.
	eventOps = domain.MaxWork + 4*(domain.MaxSagaTimers+1) + 33 + 32
)

// chunk is one commit in the making.
type chunk struct {
	board.Batch
	bytes   int
	changed map[string]*instance // written when it is closed
	order   []string
	upTo    map[*source]progress
	outbox  []string // keys of what is put into the outbox
	work    []outgoing
	dead    []*domain.DeadLetter
	eased   bool
	spans   []tracing.Span // told of once it is committed
}

// chunk is one that counts only while the partition is held, and its saga's
// events go the ways that the shard knows.
func (s *shard) chunk() *chunk {
	c := &chunk{changed: map[string]*instance{}, upTo: map[*source]progress{}}
	c.Space = s.space
	c.Held(s.record, s.owner, s.Claimed.Token).Equal(s.keys.Checkpoint(s.saga), generationNo, s.positions.no)
	return c
}

// empty reports whether nothing is to be done.
func (c *chunk) empty() bool { return len(c.Ops)+len(c.order)+len(c.outbox) == 0 }

// full reports whether an event of so many bytes should not be dealt with in it
// any more.
func (c *chunk) full(more int) bool {
	return len(c.Guards)+len(c.Ops)+3*len(c.order) >= chunkOps || c.bytes > 0 && c.bytes+more > chunkBytes
}

func (c *chunk) set(key string, fields ...board.Field) {
	for i := range fields {
		c.bytes += len(fields[i].Value)
	}
	c.Set(key, fields...)
}

// change sees to it that an instance is written when the chunk is closed.
func (c *chunk) change(key string, at *instance) {
	id := at.in.Correlation
	if c.changed[id] != nil {
		return
	}
	if at.stored == 0 {
		c.Absent(key)
	} else {
		c.Equal(key, layout.SagaVersion, strconv.FormatInt(at.stored, 10))
	}
	c.changed[id] = at
	c.order = append(c.order, id)
	c.bytes += sizeOf(at.in)
}

// sizeOf is about how many bytes an instance has.
func sizeOf(in *domain.SagaInstance) int {
	n := 500 + len(in.Data)
	for i := range in.Steps {
		n += 200 + len(in.Steps[i].Payload) + len(in.Steps[i].Result)
	}
	n += 150 * len(in.Asked)
	for i := range in.Timers {
		n += 100 + len(in.Timers[i].Payload)
	}
	for i := range in.Deferred {
		n += 400 + len(in.Deferred[i].Payload)
	}
	return n
}

// close writes what has changed.
func (c *chunk) close(s *shard, r *round) {
	for _, id := range c.order {
		at := c.changed[id]
		key := s.keys.Instance(s.saga, id)
		c.Set(key, layout.EncodeSaga(at.in)...)
		if at.in.Status == domain.SagaEnded {
			stay := r.retention(at)
			c.Expire(key, stay).Expire(s.keys.History(s.saga, id), stay)
		}
		at.stored = at.in.Version
	}
	if len(c.outbox) > 0 {
		c.Include(s.keys.OutboxIndex(s.saga, s.partition), c.outbox...)
	}
	if s.crashLoop.ease {
		c.ease(s)
	}
}

// move moves the position of a source. It is guarded by both fields: the position
// may stay where it is.
func (c *chunk) move(s *shard, src *source, was, at written) {
	key := s.keys.Checkpoint(s.saga)
	c.Equal(key, src.field, was.position).Equal(key, src.field+asideField, was.aside)
	c.Set(key, board.Field{Name: src.field, Value: at.position})
	switch {
	case at.aside != "":
		c.set(key, board.Field{Name: src.field + asideField, Value: at.aside})
	case was.aside != "":
		c.Unset(key, src.field+asideField)
	}
}

// timer sets a timer of an instance.
func (c *chunk) timer(keys layout.SagaKeys, in *domain.SagaInstance, t *domain.SagaTimer) {
	key := keys.Timer(in.Saga, in.Correlation, t.DueMs)
	c.set(key, board.Field{Name: layout.TimerSaga, Value: in.Saga}, board.Field{Name: layout.TimerOf, Value: in.Correlation},
		board.Field{Name: timerSetBy, Value: strconv.FormatInt(in.Version, 10)},
		board.Field{Name: layout.TimerPayload, Value: plainJSON(t)})
	c.SetAlarm(layout.TimerAlarm(key), time.UnixMilli(t.DueMs))
}

// timerAgain sets one again, which may have come before.
func (c *chunk) timerAgain(keys layout.SagaKeys, in *domain.SagaInstance, t *domain.SagaTimer) {
	c.timer(keys, in, t)
	c.set(keys.Timer(in.Saga, in.Correlation, t.DueMs), board.Field{Name: timerAgain, Value: strconv.FormatInt(in.Version, 10)})
}
