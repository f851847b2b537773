package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/redis/rueidis"
)

// This file has what Ramet is measured against: a bare store that does the
// durable writes of a no-op job, and nothing else. A ratio to that says what
// the engine costs, and stays the same where the machine is slow.

// bareStore does what a job needs, for the jobs [from, to) together.
type bareStore interface {
	// submit writes the record, marks it as unfinished, and queues it.
	submit(from, to int)
	// end takes the jobs off the queue and marks them as running; then writes
	// the record again with its end, takes the mark away and lists it as finished.
	end(from, to int)
	close()
}

// Both go in the batches that the engine makes.
const (
	bareSubmits = 1000
	bareEnds    = 256
)

// bareCost is the processor time of a bare store, for each job.
func bareCost(r *rig) figures {
	store := r.bareStore()
	cost := func(size int, write func(from, to int)) float64 {
		cpu := selfCPU() + r.serverCPU()
		for from := 0; from < *jobs; from += size {
			write(from, min(from+size, *jobs))
		}
		return round((selfCPU() + r.serverCPU() - cpu) * 1e6 / float64(*jobs))
	}
	submit, end := cost(bareSubmits, store.submit), cost(bareEnds, store.end)
	store.close()
	return figures{"jobs": *jobs, "submit_cpu_us_per_job": submit, "end_cpu_us_per_job": end}
}

func (r *rig) bareStore() bareStore {
	if r.redis != nil {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{r.redisAddr}, DisableCache: true, SelectDB: 1})
		check(err)
		return &bareRedis{client}
	}
	db, err := pebble.Open(filepath.Join(r.dir, "bare"), &pebble.Options{MemTableSize: 32 << 20, Logger: silent{}})
	check(err)
	return &barePebble{db: db}
}

// barePebble keeps records as values of 400 bytes.
type barePebble struct {
	db         *pebble.DB
	key, value []byte
}

var bareRecord = strings.Repeat("0123456789abcdef", 25)

func (p *barePebble) named(kind byte, n int) []byte {
	p.key = binary.BigEndian.AppendUint64(append(p.key[:0], kind), uint64(n))
	return p.key
}

// items is the keys of the jobs, as one chunk of a list.
func (p *barePebble) items(from, to int) []byte {
	p.value = p.value[:0]
	for n := from; n < to; n++ {
		p.value = strconv.AppendInt(append(p.value, "job:1:"...), int64(n), 10)
	}
	return p.value
}

func (p *barePebble) submit(from, to int) {
	b := p.db.NewBatch()
	for n := from; n < to; n++ {
		check(b.Set(p.named('k', n), []byte(bareRecord), nil))
		check(b.Set(p.named('v', n), nil, nil))
	}
	check(b.Set(p.named('q', from), p.items(from, to), nil))
	check(b.Commit(pebble.Sync))
}

func (p *barePebble) end(from, to int) {
	check(p.db.Set(p.named('c', from), p.items(from, to), pebble.NoSync))
	b := p.db.NewBatch()
	for n := from; n < to; n++ {
		record, closer, err := p.db.Get(p.named('k', n))
		check(err)
		check(b.Set(p.key, record, nil))
		check(closer.Close())
		check(b.SingleDelete(p.named('v', n), nil))
	}
	check(b.SingleDelete(p.named('c', from), nil))
	check(b.Set(p.named('f', from), p.items(from, to), nil))
	check(b.Commit(pebble.Sync))
}

func (p *barePebble) close() { check(p.db.Close()) }

// silent keeps the store's chatter out of the figures.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(format string, args ...any) { check(fmt.Errorf(format, args...)) }
func (silent) Fatalf(format string, args ...any) { check(fmt.Errorf(format, args...)) }

// bareRedis sends one pipeline for each batch, with no script and no transaction.
type bareRedis struct{ client rueidis.Client }

func (s *bareRedis) do(list rueidis.Commands) {
	for _, answer := range s.client.DoMulti(context.Background(), list...) {
		check(answer.Error())
	}
}

func bareKey(n int) string { return "job:1:" + strconv.Itoa(n) }

func (s *bareRedis) submit(from, to int) {
	list := make(rueidis.Commands, 0, 3*(to-from))
	for n := from; n < to; n++ {
		key := bareKey(n)
		set := s.client.B().Arbitrary("HSET").Keys(key)
		for i := range 16 {
			set = set.Args("field_"+strconv.Itoa(i), bareRecord[:16])
		}
		list = append(list, set.Build(),
			s.client.B().Zadd().Key("live").ScoreMember().ScoreMember(float64(n), key).Build(),
			s.client.B().Lpush().Key("queue").Element(key).Build())
	}
	s.do(list)
}

func (s *bareRedis) end(from, to int) {
	claims, ends := make(rueidis.Commands, 0, 3*(to-from)), make(rueidis.Commands, 0, 4*(to-from))
	for n := from; n < to; n++ {
		key := bareKey(n)
		claims = append(claims, s.client.B().Rpop().Key("queue").Build(),
			s.client.B().Hset().Key(key).FieldValue().FieldValue("field_0", "started").FieldValue("owner", "bench/1").FieldValue("attempt", "1").Build(),
			s.client.B().Hgetall().Key(key).Build(),
			s.client.B().Zadd().Key("leases").ScoreMember().ScoreMember(float64(n), key).Build())
		ends = append(ends,
			s.client.B().Hset().Key(key).FieldValue().FieldValue("field_0", "finished").FieldValue("result", bareRecord[:16]).
				FieldValue("finished_ms", bareRecord[:13]).Build(),
			s.client.B().Hdel().Key(key).Field("owner").Build(),
			s.client.B().Zrem().Key("leases").Member(key).Build(),
			s.client.B().Zrem().Key("live").Member(key).Build(),
			s.client.B().Lpush().Key("finished").Element(key).Build())
	}
	s.do(claims)
	s.do(ends)
}

func (s *bareRedis) close() { s.client.Close() }
