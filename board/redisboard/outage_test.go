package redisboard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
)

func wantKind(t *testing.T, what string, err, kind error, words string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: got %v, want one of kind %v that says %q", what, err, kind, words)
	}
}

func set(key, name, value string) *board.Batch {
	return (&board.Batch{Space: 1}).Set(key, board.Field{Name: name, Value: value})
}

// Whatever was acknowledged with appendfsync always is there after kill -9,
// and the board goes on by itself.
func TestKillNine(t *testing.T) {
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	b := open(t, s, redisboard.Config{})
	if got := b.Durability(); got != board.DurableDisk {
		t.Errorf("durability: got %s, want disk", got)
	}
	waiting := waits(t, b, waitingAsk("queue:v"))
	var mu sync.Mutex
	acked := map[string]bool{}
	var writers sync.WaitGroup
	enough := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("r:%d:%d", w, i)
				err := b.Commit(context.Background(), *set(key, "a", "1"))
				if errors.Is(err, domain.ErrUnavailable) {
					return
				}
				if err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				mu.Lock()
				acked[key] = true
				if len(acked) == 500 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	s.Kill()
	writers.Wait()
	err := b.Commit(t.Context(), *set("x", "a", "1"))
	wantKind(t, "commit while redis is gone", err, domain.ErrUnavailable, "cannot be reached")
	s.Restart()
	b.AwaitSubscription(t)
	for key := range acked {
		recs, err := b.Get(t.Context(), 1, key)
		if err != nil {
			t.Fatal(err)
		}
		if recs[0] == nil {
			t.Fatalf("acknowledged record %s is lost", key)
		}
	}
	commit(t, b, (&board.Batch{Space: 1}).PushLeft("queue:v", "job:1"))
	if got := <-waiting; len(got) != 1 || got[0].Item != "job:1" {
		t.Fatalf("the claim that waited through the outage got %v", got)
	}
}

// A foreign push and a change while the subscription was down are found.
func TestMessagesMissedInAnOutage(t *testing.T) {
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	b := open(t, s, redisboard.Config{Poll: time.Hour})
	commit(t, b, (&board.Batch{}).Include("contexts", "1"))
	events, err := b.Watch(t.Context(), 1, "job:")
	if err != nil {
		t.Fatal(err)
	}
	waiting := waits(t, b, waitingAsk("queue:v"))
	s.Restart()
	dial(t, s, 1).do("LPUSH", "queue:v", "job:1")
	if e := <-events; e.Key != "" {
		t.Errorf("got event %v, want one with an empty key", e)
	}
	if got := <-waiting; len(got) != 1 {
		t.Errorf("got %v", got)
	}
	b.AwaitSubscription(t)
	dial(t, s, 1).do("HSET", "job:2", "a", "1")
	for e := range events {
		if e.Key == "job:2" {
			break
		}
	}
}

// Calls are answered again before messages come again; a watch that is opened
// in between waits for them.
func TestWatchRightAfterAnOutage(t *testing.T) {
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	b := open(t, s, redisboard.Config{})
	for i := range 3 {
		s.Restart()
		for end := time.Now().Add(within); ; {
			if err := b.Commit(t.Context(), *set("r", "a", "1")); err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		// A topic of its own each time: none is left over from before.
		events, err := b.Watch(t.Context(), board.Space(1+i), "job:")
		if err != nil {
			t.Fatalf("outage %d: watch: %v", i, err)
		}
		commit(t, b, (&board.Batch{Space: board.Space(1 + i)}).Set("job:1", board.Field{Name: "a", Value: fmt.Sprint(i)}))
		if e := <-events; e.Key != "job:1" && e.Key != "" { // "": look at everything
			t.Errorf("got event %v", e)
		}
	}
}

// A server that stays away is waited for no longer than for any answer.
func TestWatchOfALostServerEnds(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s, redisboard.Config{Answer: 200 * time.Millisecond})
	s.Kill()
	_, err := b.Watch(t.Context(), 1, "job:")
	wantKind(t, "watch", err, domain.ErrUnavailable, "cannot be reached")
}

func TestStoppedServer(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s, redisboard.Config{Answer: 2 * time.Second}) // in which a server that is there answers on a busy machine
	commit(t, b, set("r", "a", "1"))
	s.Pause()
	defer s.Continue()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Commit(ctx, *set("r", "a", "2")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	err := b.Commit(t.Context(), *set("r", "a", "3"))
	wantKind(t, "commit", err, domain.ErrUnavailable, "it gives no answer")
	s.Continue()
	b.AwaitSubscription(t)
	for end := time.Now().Add(within); ; {
		if err = b.Commit(t.Context(), *set("r", "a", "4")); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFullMemory(t *testing.T) {
	s := redistest.Start(t, "maxmemory-policy noeviction")
	b := open(t, s, redisboard.Config{})
	commit(t, b, set("r", "a", strings.Repeat("x", 1<<20)).Set("keep", board.Field{Name: "n", Value: "1"}))
	p := dial(t, s, 0)
	p.do("CONFIG", "SET", "maxmemory", "1mb")
	err := b.Commit(t.Context(), *set("r2", "a", "1").Add("keep", "n", 1))
	wantKind(t, "commit", err, domain.ErrExhausted, "maxmemory")
	// What frees memory works, also together with what does not.
	errs := b.CommitEach(t.Context(), []board.Batch{*set("r3", "a", "1"), *(&board.Batch{Space: 1}).Delete("r")})
	wantKind(t, "set of two", errs[0], domain.ErrExhausted, "maxmemory")
	if errs[1] != nil {
		t.Errorf("delete: %v", errs[1])
	}
	p.do("CONFIG", "SET", "maxmemory", "0")
	recs, err := b.Get(t.Context(), 1, "r", "r2", "r3", "keep")
	if err != nil || recs[0] != nil || recs[1] != nil || recs[2] != nil || recs[3].Get("n") != "1" {
		t.Errorf("got %v, %v", recs, err)
	}
}

func TestBecomesReplica(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s, redisboard.Config{})
	p := dial(t, s, 0)
	p.do("REPLICAOF", "127.0.0.1", "1")
	err := b.Commit(t.Context(), *set("r", "a", "1"))
	wantKind(t, "commit", err, domain.ErrUnavailable, "replica")
	_, err = redisboard.Open(t.Context(), s.URL(), redisboard.Config{})
	wantKind(t, "open", err, domain.ErrUnavailable, "replica")
	p.do("REPLICAOF", "NO", "ONE")
	commit(t, b, set("r", "a", "1"))
}

func TestScriptsForgotten(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s, redisboard.Config{})
	p := dial(t, s, 0)
	for range 2 {
		commit(t, b, set("r", "a", "1"))
		if _, err := b.Claim(t.Context(), board.Ask{Max: 1, Owner: "me", Lease: time.Minute, Queues: []board.Queue{{Lists: []string{"queue:v"}}}}); err != nil {
			t.Fatal(err)
		}
		p.do("SCRIPT", "FLUSH")
	}
	waiting := waits(t, b, waitingAsk("queue:v"))
	p.do("SCRIPT", "FLUSH")
	commit(t, b, (&board.Batch{Space: 1}).PushLeft("queue:v", "job:1"))
	if got := <-waiting; len(got) != 1 {
		t.Fatalf("got %v", got)
	}
}
