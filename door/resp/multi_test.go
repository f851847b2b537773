package resp_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
)

func TestMulti(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"commands see each other", `
			MULTI -> OK
			SET a 1 -> QUEUED
			INCR a -> QUEUED
			HSET h x 1 -> QUEUED
			HINCRBY h x 4 -> QUEUED
			HGETALL h -> QUEUED
			RPUSH l a b c -> QUEUED
			LPUSH l z -> QUEUED
			LRANGE l 0 -1 -> QUEUED
			RPOP l -> QUEUED
			LLEN l -> QUEUED
			LINDEX l -1 -> QUEUED
			SADD s a b -> QUEUED
			SREM s a -> QUEUED
			SMEMBERS s -> QUEUED
			TYPE a -> QUEUED
			EXISTS a h l s nope -> QUEUED
			EXPIRE a 100 -> QUEUED
			TTL a -> QUEUED
			DEL h -> QUEUED
			EXISTS h -> QUEUED
			RPUSH h now a list -> QUEUED
			LRANGE h 0 -1 -> QUEUED
			EXEC -> [OK 2 1 5 [x 5] 3 4 [z a b c] c 3 b 2 1 [b] string 4 1 100 1 0 3 [now a list]]
			LRANGE l 0 -1 -> [z a b]
			LRANGE h 0 -1 -> [now a list]
			GET a -> 2
			TTL a -> 100
			SMEMBERS s -> [b]
		`},
		{"an error of one leaves the others", `
			SET t text -> OK
			MULTI -> OK
			SET a 1 -> QUEUED
			LPUSH t x -> QUEUED
			INCR t -> QUEUED
			SET b 2 -> QUEUED
			EXEC -> [OK (error) WRONGTYPE Operation against a key holding the wrong kind of value (error) ERR value is not an integer or out of range OK]
			MGET a b -> [1 2]
		`},
		{"what is refused at once spoils it", `
			MULTI -> OK
			SET a 1 -> QUEUED
			NOPE -> ! ERR unknown command
			EXEC -> ! EXECABORT
			GET a -> (nil)
			MULTI -> OK
			GET -> ! ERR wrong number
			EXEC -> ! EXECABORT
			MULTI -> OK
			SELECT 7 -> ! ERR select is not done between MULTI and EXEC here
			EXEC -> ! EXECABORT
		`},
		{"discard", `
			MULTI -> OK
			SET a 1 -> QUEUED
			DISCARD -> OK
			GET a -> (nil)
			EXEC -> ! ERR EXEC without MULTI
			DISCARD -> ! ERR DISCARD without MULTI
			MULTI -> OK
			MULTI -> ! ERR MULTI calls can not be nested
			EXEC -> []
		`},
		{"a blocking pop does not wait", `
			MULTI -> OK
			BLPOP q 0 -> QUEUED
			RPUSH q a b -> QUEUED
			BLPOP q 0 -> QUEUED
			BLMOVE q r LEFT LEFT 0 -> QUEUED
			BLMOVE q r LEFT LEFT 0 -> QUEUED
			EXEC -> [(nil) 2 [q a] b (nil)]
		`},
		{"a capped list", `
			RPUSH l 1 2 3 -> 3
			MULTI -> OK
			LPUSH l 0 -> QUEUED
			LTRIM l 0 1 -> QUEUED
			LRANGE l 0 -1 -> QUEUED
			EXEC -> [4 OK [0 1]]
			LRANGE l 0 -1 -> [0 1]
			MULTI -> OK
			LRANGE l 0 0 -> QUEUED
			LTRIM l 1 -1 -> QUEUED
			EXEC -> [[0] OK]
			LRANGE l 0 -1 -> [1]
		`},
		{"what leaves a list unknown is the last that is done with it", `
			RPUSH l a b a -> 3
			MULTI -> OK
			LREM l 0 a -> QUEUED
			LLEN l -> QUEUED
			EXEC -> [2 (error) ERR this cannot be done in one MULTI: a key was changed there before in a way that leaves its content unknown; do it in two]
			LRANGE l 0 -1 -> [b]
		`},
		{"a watched key that changes", `
			SET a 1 -> OK
			WATCH a -> OK
			SET a 2 -> OK
			MULTI -> OK
			SET b 1 -> QUEUED
			EXEC -> (nil)
			GET b -> (nil)
			WATCH a -> OK
			MULTI -> OK
			INCR a -> QUEUED
			EXEC -> [3]
			WATCH a -> OK
			SET a 9 -> OK
			UNWATCH -> OK
			MULTI -> OK
			INCR a -> QUEUED
			EXEC -> [10]
			WATCH nope -> OK
			LPUSH nope x -> 1
			MULTI -> OK
			EXEC -> (nil)
			WATCH nope -> OK
			RPUSH nope x -> 2
			MULTI -> OK
			EXEC -> (nil)
			SADD s a -> 1
			WATCH s -> OK
			SADD s b -> 1
			MULTI -> OK
			EXEC -> (nil)
			MULTI -> OK
			WATCH s -> ! ERR WATCH inside MULTI is not allowed
			EXEC -> []
		`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			newRig(t).as(admin).script(tt.script)
		})
	}
}

// TestWatchIsExact has clients add to a number by WATCH, GET, MULTI, SET, EXEC,
// while others add past the door.
func TestWatchIsExact(t *testing.T) {
	r := newRig(t)
	const clients, each = 4, 50
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c := r.as(executor)
			for done := 0; done < each; {
				c.do("WATCH", "n")
				var n int
				fmt.Sscan(show(c.do("GET", "n")), &n)
				c.do("MULTI")
				c.do("SET", "n", fmt.Sprint(n+1))
				if _, no := c.do("EXEC").(null); !no {
					done++
				}
			}
		})
	}
	wg.Go(func() {
		for range each {
			b := board.Batch{Space: 7}
			if err := r.board.Commit(t.Context(), *b.Add("n", "ramet:string", 1)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	r.as(admin).want(fmt.Sprint((clients+1)*each), "GET", "n")
}

func TestAMultiHasLimits(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	c.want("OK", "MULTI")
	for range 1000 {
		c.want("QUEUED", "SADD", "s", "a")
	}
	c.refused("ERR a MULTI of more than", "SADD", "s", "a")
	c.refused("EXECABORT", "EXEC")
	c.want("OK", "MULTI")
	for i := range 600 {
		c.want("QUEUED", "HSETNX", "h", fmt.Sprint(i), "x") // a guard and a change each
	}
	c.refused("ERR a MULTI of more than", "EXEC")
	c.want("0", "HLEN", "h")
}

func TestChannels(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b, p := r.as(reader), r.as(reader), r.as(executor)
		a.want("[subscribe news 1]", "SUBSCRIBE", "news")
		b.want("[psubscribe n* 1]", "PSUBSCRIBE", "n*")
		p.want("2", "PUBLISH", "news", "hello")
		if got := show(a.read()); got != "[message news hello]" {
			t.Errorf("got %s", got)
		}
		if got := show(b.read()); got != "[pmessage n* news hello]" {
			t.Errorf("got %s", got)
		}
		p.want("0", "PUBLISH", "others", "x")
		p.want("[news]", "PUBSUB", "CHANNELS")
		p.want("[news 1 x 0]", "PUBSUB", "NUMSUB", "news", "x")
		p.want("1", "PUBSUB", "NUMPAT")
		a.refused("ERR Can't execute 'get'", "GET", "x")
		a.want("[pong '']", "PING")
		a.want("[unsubscribe news 0]", "UNSUBSCRIBE")
		a.want("PONG", "PING")
		a.want("[unsubscribe (nil) 0]", "UNSUBSCRIBE")
		p.want("1", "PUBLISH", "news", "2") // b's pattern
		b.read()
		// Who publishes may write; other contexts have channels of their own.
		a.refused("NOPERM", "PUBLISH", "news", "x")
		op := r.connect()
		op.want("OK", "AUTH", r.token(1))
		op.want("OK", "SELECT", "1")
		op.want("0", "PUBLISH", "news", "x")
	})
}

func TestSubscribersInRESP3GoOnAsking(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, p := r.as(executor), r.as(executor)
		a.do("HELLO", "3")
		a.want("[subscribe news 1]", "SUBSCRIBE", "news")
		a.want("PONG", "PING")
		a.want("1", "LPUSH", "l", "x")
		p.want("1", "PUBLISH", "news", "hello")
		if got := show(a.read()); got != "[message news hello]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestWhatIsPublishedInAMultiIsToldAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, p := r.as(reader), r.as(executor)
		a.want("[subscribe news 1]", "SUBSCRIBE", "news")
		p.script(`
			MULTI -> OK
			SET a 1 -> QUEUED
			PUBLISH news a -> QUEUED
			EXEC -> [OK 1]
		`)
		if got := show(a.read()); got != "[message news a]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestChangesOfKeysAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b, p := r.as(reader), r.as(admin), r.as(admin)
		a.want("[subscribe __keyspace@7__:job:10:1 1]", "SUBSCRIBE", "__keyspace@7__:job:10:1")
		b.want("[psubscribe __keyspace@7__:* 1]", "PSUBSCRIBE", "__keyspace@7__:*")
		p.want("1", "HSET", "job:10:1", "script", "x")
		if got := show(a.read()); got != "[message __keyspace@7__:job:10:1 changed]" {
			t.Errorf("got %s", got)
		}
		if got := show(b.read()); got != "[pmessage __keyspace@7__:* __keyspace@7__:job:10:1 changed]" {
			t.Errorf("got %s", got)
		}
		p.refused("NOPERM", "PUBLISH", "__keyspace@7__:job:10:1", "changed")
		// The node's own keys are told to admins alone.
		c := r.as(reader)
		c.want("[psubscribe __keyspace@7__:* 1]", "PSUBSCRIBE", "__keyspace@7__:*")
		r.place("ramet:finished")
		b.read() // free
		if got := show(b.read()); got != "[pmessage __keyspace@7__:* __keyspace@7__:ramet:finished changed]" {
			t.Errorf("an admin: got %s", got)
		}
		if got := show(c.read()); got != "[pmessage __keyspace@7__:* __keyspace@7__:free changed]" {
			t.Errorf("a reader: got %s", got)
		}
	})
}

func TestASubscriberThatDoesNotReadIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, p := r.as(reader), r.as(executor)
		a.want("[subscribe news 1]", "SUBSCRIBE", "news")
		big := strings.Repeat("x", 1<<20)
		for range 10 {
			p.send("PUBLISH", "news", big)
			p.read()
		}
		synctest.Wait()
		p.want("0", "PUBLISH", "news", "x")
		a.closed()
	})
}
