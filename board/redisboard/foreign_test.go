package redisboard_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// plain is a client that knows nothing of boards.
type plain struct {
	t testing.TB
	c rueidis.Client
}

func dial(t testing.TB, s *redistest.Server, db int) plain {
	t.Helper()
	opt := rueidis.MustParseURL(s.URL())
	opt.SelectDB, opt.DisableCache, opt.ForceSingleClient = db, true, true
	c, err := rueidis.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return plain{t, c}
}

func (p plain) do(words ...string) rueidis.RedisResult {
	p.t.Helper()
	r := p.c.Do(context.Background(), p.c.B().Arbitrary(words...).Build())
	if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
		p.t.Fatalf("%v: %v", words, err)
	}
	return r
}

func (p plain) list(words ...string) []string {
	p.t.Helper()
	out, _ := p.do(words...).AsStrSlice()
	return out
}

func (p plain) hash(key string) map[string]string {
	p.t.Helper()
	m, _ := p.do("HGETALL", key).AsStrMap()
	return m
}

// The two ways to lay out spaces: where a plain client finds space 3.
var layouts = []struct {
	tenancy redisboard.Tenancy
	db      int
	prefix  string
}{
	{redisboard.TenancyDB, 3, ""},
	{redisboard.TenancyPrefix, 0, "ctx:3:"},
}

func inBothTenancies(t *testing.T, f func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string)) {
	for _, l := range layouts {
		t.Run(string(l.tenancy), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			f(t, s, l.tenancy, dial(t, s, l.db), l.prefix)
		})
	}
}

// within is a bound that only a broken driver reaches.
const within = 20 * time.Second

func waitingAsk(lists ...string) board.Ask {
	ask := board.Ask{Max: 10, Owner: "me", Lease: time.Minute, Wait: within}
	for _, l := range lists {
		ask.Queues = append(ask.Queues, board.Queue{Lists: []string{l}})
	}
	return ask
}

// waits starts a claim and returns once it stands in line.
func waits(t *testing.T, b *redisboard.Board, ask board.Ask) <-chan []board.Claimed {
	t.Helper()
	out := make(chan []board.Claimed, 1)
	go func() {
		got, err := b.Claim(t.Context(), ask)
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		out <- got
	}()
	b.AwaitWaiter(t, ask.Queues[0].Group())
	return out
}

func TestForeignPushIsSeenAtOnce(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		// Without the slow look: it is the message that must wake.
		b := open(t, s, redisboard.Config{Tenancy: tenancy, Poll: time.Hour})
		for i := range 3 {
			item := "job:12:" + strconv.Itoa(i)
			got := waits(t, b, waitingAsk("queue:v", "queue:python"))
			p.do("HSET", prefix+item, "script", "1+1", "status", "dispatched")
			p.do("LPUSH", prefix+"queue:python", item)
			c := <-got
			if len(c) != 1 || c[0].Item != item || c[0].Space != 3 || c[0].Record.Get("script") != "1+1" {
				t.Fatalf("claimed %v", c)
			}
		}
	})
}

// A rhailib client writes the task and pushes its id, as it always has.
func TestForeignPushToACircle(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy, Poll: time.Hour})
		got := waits(t, b, waitingAsk("rhai_tasks:c1"))
		p.do("HSET", prefix+"rhai_task_details:5f3c", "script", "40 + 2", "status", "pending")
		p.do("LPUSH", prefix+"rhai_tasks:c1", "5f3c")
		c := <-got
		if len(c) != 1 || c[0].Item != "rhai_task_details:5f3c" || c[0].Space != 3 || c[0].Record.Get("script") != "40 + 2" {
			t.Fatalf("claimed %v", c)
		}
		want := map[string]string{"script": "40 + 2", "status": "pending", "attempt": "1", "lease_owner": "me", "lease_queue": "rhai_tasks:c1"}
		if diff := cmp.Diff(want, p.hash(prefix+"rhai_task_details:5f3c")); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		if held := dial(t, s, 0).list("ZRANGE", "ramet:leases", "0", "-1"); len(held) != 1 || held[0] != "3|rhai_task_details:5f3c" {
			t.Errorf("leases: got %q", held)
		}
		if n := p.list("LRANGE", prefix+"rhai_tasks:c1", "0", "-1"); len(n) != 0 {
			t.Errorf("left in the list: %q", n)
		}
	})
}

func TestForeignKinds(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy})
		commit(t, b, (&board.Batch{Space: 3}).Set("job:1", board.Field{Name: "a", Value: "1"}).Live("job:1", time.Now()).PushLeft("queue:v", "job:2"))
		if _, err := b.Claim(t.Context(), board.Ask{Max: 1, Owner: "me", Lease: time.Minute, Queues: []board.Queue{{Lists: []string{"queue:v"}}}}); err != nil {
			t.Fatal(err)
		}
		p.do("SET", prefix+"text", "x", "EX", "100")
		p.do("ZADD", prefix+"scores", "1", "x")
		p.do("XADD", prefix+"stream", "*", "a", "1")
		p.do("LPUSH", prefix+"list", "x")
		p.do("EXPIRE", prefix+"list", "100")
		want := map[string]board.Kind{
			"job:1": board.KindRecord, "text": board.KindOther, "scores": board.KindOther, "stream": board.KindOther, "list": board.KindList,
			"none": "", "ramet:live": "", "ramet:running": "", // the board's own are not there
		}
		for key, kind := range want {
			stat, err := b.Stat(t.Context(), 3, key)
			if err != nil {
				t.Fatal(err)
			}
			if stat[0].Kind != kind {
				t.Errorf("%s: got %q, want %q", key, stat[0].Kind, kind)
			}
			expires := key == "text" || key == "list"
			if d := time.Until(stat[0].Expires); expires && (d < 50*time.Second || d > 101*time.Second) || !expires && !stat[0].Expires.IsZero() {
				t.Errorf("%s expires at %v", key, stat[0].Expires)
			}
		}
	})
}

func TestForeignPushIsFoundWithoutMessages(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy, Poll: 20 * time.Millisecond, LeaveConfig: true})
		dial(t, s, 0).do("SADD", "contexts", "3", "4")
		got := waits(t, b, waitingAsk("queue:python"))
		p.do("LPUSH", prefix+"queue:python", "job:12:1")
		if c := <-got; len(c) != 1 || c[0].Item != "job:12:1" {
			t.Fatalf("claimed %v", c)
		}
	})
}

// TestAContextMadeByHand is one whose record somebody has written, and nothing else.
func TestAContextMadeByHand(t *testing.T) {
	s := redistest.Start(t)
	dial(t, s, 5).do("SET", "context:5", "no record")
	dial(t, s, 4).do("HSET", "context:3", "id", "3") // of another database
	b := open(t, s, redisboard.Config{Poll: 20 * time.Millisecond, LeaveConfig: true})
	dial(t, s, 6).do("HSET", "context:6", "id", "6", "admins", "[1]")
	dial(t, s, 7).do("HSET", "context:7", "id", "7")
	testwait.Until(t, "contexts 6 and 7, and no other", func() bool {
		got, err := b.Members(t.Context(), 0, "contexts", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Equal(got, []string{"6", "7"})
	})
}

func TestForeignPushBeforeAnybodyListens(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		dial(t, s, 0).do("SADD", "contexts", "3")
		p.do("LPUSH", prefix+"queue:python", "job:12:1")
		b := open(t, s, redisboard.Config{Tenancy: tenancy, Poll: time.Hour})
		got, err := b.Claim(t.Context(), waitingAsk("queue:python"))
		if err != nil || len(got) != 1 {
			t.Fatalf("claimed %v, %v", got, err)
		}
	})
}

func TestForeignChangeIsWatched(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy})
		events, err := b.Watch(t.Context(), 3, "job:12:")
		if err != nil {
			t.Fatal(err)
		}
		p.do("HSET", prefix+"job:13:1", "status", "finished")
		p.do("HSET", prefix+"job:12:1", "status", "finished")
		p.do("RPUSH", prefix+"job:12:list", "x")
		p.do("SADD", prefix+"job:12:set", "x")
		p.do("LPOP", prefix+"job:12:list")
		for _, key := range []string{"job:12:1", "job:12:list", "job:12:set", "job:12:list"} {
			e := <-events
			if e.Space != 3 || e.Key != key {
				t.Fatalf("got %v, want %s", e, key)
			}
		}
	})
}

// Who pops is told of, in the space of the queue, and our own claims are no pops.
func TestForeignPopIsTold(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy, Poll: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		taken, err := b.Taken(ctx)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, b, (&board.Batch{Space: 3}).PushLeft("queue:v", "job:12:1", "job:12:2", "job:12:3"))
		p.do("RPUSH", prefix+"elsewhere", "x")
		ask := waitingAsk("queue:v")
		ask.Max = 1
		if got, err := b.Claim(t.Context(), ask); err != nil || len(got) != 1 {
			t.Fatalf("claimed %v, %v", got, err)
		}
		p.do("LPOP", prefix+"elsewhere")
		p.do("LMOVE", prefix+"queue:v", prefix+"mine", "RIGHT", "LEFT")
		p.do("BRPOP", prefix+"queue:v", "1")
		p.do("RPUSH", prefix+"msg_out", "message:12:1")
		p.do("LPOP", prefix+"msg_out")
		for _, want := range []string{"queue:v", "queue:v", "msg_out"} {
			if e := <-taken; e.Space != 3 || e.Key != want {
				t.Fatalf("got %v, want %s in space 3", e, want)
			}
		}
		cancel()
		for range taken { // ends with its context
		}
	})
}

// Where CONFIG may not be used the scripts tell of what they change.
func TestOwnChangesAreWatchedWithoutKeyspaceEvents(t *testing.T) {
	s := redistest.Start(t)
	b, other := open(t, s, redisboard.Config{LeaveConfig: true}), open(t, s, redisboard.Config{LeaveConfig: true})
	events, err := b.Watch(t.Context(), 3, "job:")
	if err != nil {
		t.Fatal(err)
	}
	batch := (&board.Batch{Space: 3}).Set("job:1", board.Field{Name: "a", Value: "1"}).Set("other", board.Field{Name: "a", Value: "1"})
	if err := other.Commit(t.Context(), *batch); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Key != "job:1" {
		t.Fatalf("got %v, want job:1", e)
	}
}

// A foreign runner pops a job and finishes it; what it leaves behind in the
// ready index does no harm.
func TestForeignRunner(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy, Poll: time.Hour})
		commit(t, b, (&board.Batch{Space: 3}).Set("job:1", board.Field{Name: "status", Value: "dispatched"}).PushLeft("queue:v", "job:1"))
		if got := p.list("BRPOP", prefix+"queue:v", "1"); len(got) != 2 || got[1] != "job:1" {
			t.Fatalf("popped %q", got)
		}
		got := waits(t, b, waitingAsk("queue:v"))
		if ready, err := b.Ready(t.Context(), "queue:v"); err != nil || len(ready) != 0 {
			t.Fatalf("ready: %v, %v", ready, err)
		}
		commit(t, b, (&board.Batch{Space: 3}).PushLeft("queue:v", "job:2"))
		if c := <-got; len(c) != 1 || c[0].Item != "job:2" {
			t.Fatalf("claimed %v", c)
		}
	})
}

// Somebody deletes a leased record: the slot it held under the cap comes free
// when the lease would have run out.
func TestForeignDeleteOfLeasedRecord(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy})
		commit(t, b, (&board.Batch{Space: 3}).Set(board.LimitsKey, board.Field{Name: "max", Value: "1"}).PushLeft("queue:v", "job:1", "job:2"))
		ask := waitingAsk("queue:v")
		ask.Max, ask.Lease = 1, board.MinLease
		if got, err := b.Claim(t.Context(), ask); err != nil || len(got) != 1 || got[0].Item != "job:1" {
			t.Fatalf("claimed %v, %v", got, err)
		}
		p.do("DEL", prefix+"job:1")
		ask.Lease = time.Minute
		second := waits(t, b, ask)
		if got, err := b.Expired(t.Context(), 10, 2*board.MinLease); err != nil || len(got) != 0 {
			t.Fatalf("expired: %v, %v", got, err)
		}
		if got := <-second; len(got) != 1 || got[0].Item != "job:2" {
			t.Fatalf("claimed %v", got)
		}
	})
}

func commit(t testing.TB, b board.Board, batch *board.Batch) {
	t.Helper()
	if err := b.Commit(t.Context(), *batch); err != nil {
		t.Fatal(err)
	}
}

// TestLayout is the contract with every other Redis client.
func TestLayout(t *testing.T) {
	inBothTenancies(t, func(t *testing.T, s *redistest.Server, tenancy redisboard.Tenancy, p plain, prefix string) {
		b := open(t, s, redisboard.Config{Tenancy: tenancy})
		at := time.UnixMilli(1 << 41)
		commit(t, b, (&board.Batch{Space: 3}).
			Set("job:12:1", board.Field{Name: "status", Value: "dispatched"}).Live("job:12:1", at).SetAlarm("timeout:1", at).
			PushLeft("queue:v", "job:12:1", "job:12:2").Include("contexts", "7"))
		if _, err := b.Claim(t.Context(), board.Ask{Max: 1, Owner: "me", Lease: time.Minute, Queues: []board.Queue{{Lists: []string{"queue:v"}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Next(t.Context(), 3, "ramet:seq:job:12", 5); err != nil {
			t.Fatal(err)
		}
		root := dial(t, s, 0)
		for _, c := range []struct {
			what      string
			got, want any
		}{
			{"record", p.hash(prefix + "job:12:1"), map[string]string{"status": "dispatched", "attempt": "1", "lease_owner": "me", "lease_queue": "queue:v"}},
			{"list", p.list("LRANGE", prefix+"queue:v", "0", "-1"), []string{"job:12:2"}},
			{"set", p.list("SMEMBERS", prefix+"contexts"), []string{"7"}},
			{"live", p.list("ZRANGE", prefix+"ramet:live", "0", "-1"), []string{"job:12:1"}},
			{"running", p.hash(prefix + "ramet:running"), map[string]string{"queue:v": "1"}},
			{"counters", p.hash(prefix + "ramet:counters"), map[string]string{"ramet:seq:job:12": "5"}},
			{"leases", root.list("ZRANGE", "ramet:leases", "0", "-1"), []string{"3|job:12:1"}},
			{"alarms", root.list("ZRANGE", "ramet:alarms", "0", "-1"), []string{"3|timeout:1"}},
			{"ready", root.list("ZRANGE", "ramet:ready:queue:v", "0", "-1"), []string{"3"}},
			{"board", root.list("HMGET", "ramet:board", "tenancy", "survives"), []string{string(tenancy), "memory"}},
		} {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.what, diff)
			}
		}
	})
}
