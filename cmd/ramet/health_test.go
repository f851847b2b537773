package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// plainRedis is a client that knows nothing of boards.
type plainRedis struct {
	*testing.T
	c rueidis.Client
}

func dialRedis(t *testing.T, s *redistest.Server, db int) plainRedis {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, SelectDB: db, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return plainRedis{t, c}
}

func (p plainRedis) try(words ...string) rueidis.RedisResult {
	return p.c.Do(p.Context(), p.c.B().Arbitrary(words...).Build())
}

func (p plainRedis) do(words ...string) string {
	p.Helper()
	m, err := p.try(words...).ToAny()
	if err != nil && !rueidis.IsRedisNil(err) {
		p.Fatalf("%v: %v", words, err)
	}
	switch v := m.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// limit lets the server have so many bytes more than it has now.
func (p plainRedis) limit(more int) {
	p.Helper()
	_, used, _ := strings.Cut(p.do("INFO", "memory"), "used_memory:")
	used, _, _ = strings.Cut(used, "\r")
	n, err := strconv.Atoi(used)
	if err != nil {
		p.Fatal(err)
	}
	p.do("CONFIG", "SET", "maxmemory", strconv.Itoa(n+more))
}

// A Redis that is full still answers what is read: the check says so, and that all
// is well again when there is room.
func TestARedisThatIsFullIsNotHealthy(t *testing.T) {
	s := redistest.Start(t)
	b, err := openBoard(t.Context(), options{boardURL: s.URL(), log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	check := boardCheck(b, "nina")
	if err := check(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := dialRedis(t, s, 0)
	p.do("CONFIG", "SET", "maxmemory", "1")
	if _, err := b.Members(t.Context(), 0, layout.Contexts, "", 1); err != nil {
		t.Errorf("a full Redis does not answer what is read: %v", err)
	}
	if err := check(t.Context()); !errors.Is(err, domain.ErrExhausted) || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("a full Redis: got %v", err)
	}
	p.do("CONFIG", "SET", "maxmemory", "0")
	if err := check(t.Context()); err != nil {
		t.Errorf("with room again: got %v", err)
	}
}

// What a server has thrown away of unfinished work is named by the auditor, and goes
// on being named; and the server's own count is told.
func TestTheAuditorNamesWhatWasEvicted(t *testing.T) {
	// Keys that expire, so that the test says which of them go.
	s := redistest.Start(t, "maxmemory-policy volatile-lru")
	o := options{boardURL: s.URL(), log: quiet()}
	if b, err := openBoard(t.Context(), o); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "--may-lose") {
		t.Fatalf("without --may-lose: got %v, %v", b, err)
	}
	o.mayLose = true
	b, err := openBoard(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := dialRedis(t, s, 1)
	e := work.New(b, work.Config{})
	const jobs = 20
	for i := range domain.JobID(jobs) {
		j := &domain.Job{ID: i + 1, CallerID: 1, Script: "true", ScriptType: "shell", NotBefore: time.Now().Add(time.Hour).UnixMilli()}
		if _, err := e.Submit(t.Context(), 1, []*domain.Job{j}); err != nil {
			t.Fatal(err)
		}
	}
	p.do("EXPIRE", "job:1:7", "3600")
	p.limit(100_000)
	for i := 0; p.do("EXISTS", "job:1:7") == "1"; i++ {
		p.try("SET", "other:"+strconv.Itoa(i), strings.Repeat("x", 10_000))
	}
	p.do("CONFIG", "SET", "maxmemory", "0")
	for range 2 { // found, and told of again
		a, err := e.Audit(t.Context(), 1)
		if err != nil || len(a.Stuck) != 1 || a.Stuck[0].Key != "job:1:7" || !strings.Contains(a.Stuck[0].Text, "noeviction") {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	evictions, err := evictionsOf(b)(t.Context())
	if err != nil || len(evictions) != 2 || !strings.Contains(evictions[0], "has thrown away 1 keys") || !strings.Contains(evictions[1], "volatile-lru") {
		t.Errorf("got evictions %q, %v", evictions, err)
	}
}

// However many ask at once: one look at a time, and who came before it began has its
// answer.
func TestHealthIsLookedAtOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memboard.Open()
		defer mem.Close()
		var looks atomic.Int64
		goOn := make(chan struct{})
		check := boardCheck(faultboard.New(mem, faultboard.Config{Before: func(context.Context, faultboard.Call) error {
			looks.Add(1)
			<-goOn
			return domain.Exhaustedf("full")
		}}), "nina")
		var all sync.WaitGroup
		ask := func() {
			all.Go(func() {
				if err := check(t.Context()); !errors.Is(err, domain.ErrExhausted) {
					t.Errorf("got %v", err)
				}
			})
			synctest.Wait()
		}
		for range 10 {
			ask()
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := check(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("who asked and went: got %v", err)
		}
		close(goOn)
		all.Wait()
		if n := looks.Load(); n != 2 {
			t.Errorf("the board was looked at %d times for ten who asked while one looked, want 2", n)
		}
	})
}
