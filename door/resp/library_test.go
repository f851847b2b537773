package resp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ramet-run/ramet/internal/redistest"
)

// This file has ordinary client libraries at the door, over TCP.

// listen serves the rig's door over TCP too, and returns where.
func (r *rig) listen() string {
	r.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = r.pipes.Pass(c) // which closes it where the door is closed
		}
	}()
	r.Cleanup(func() { ln.Close() })
	return ln.Addr().String()
}

func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			r := newRig(t)
			addr := r.listen()
			c := redis.NewClient(&redis.Options{Addr: addr, Username: "10", Password: r.token(admin), DB: 7, Protocol: protocol, ClientName: "test"})
			defer c.Close()
			goRedis(t, c)
			bad := redis.NewClient(&redis.Options{Addr: addr, Password: "rubbish", DB: 7, Protocol: protocol, MaxRetries: -1})
			defer bad.Close()
			if err := bad.Ping(t.Context()).Err(); err == nil {
				t.Error("a wrong password: got in")
			}
			url, err := redis.ParseURL("redis://:" + r.token(executor) + "@" + addr + "/7")
			if err != nil {
				t.Fatal(err)
			}
			byURL := redis.NewClient(url)
			defer byURL.Close()
			if got := byURL.LLen(t.Context(), "q").Val(); got != 0 {
				t.Errorf("by URL: got %d items", got)
			}
		})
	}
}

func goRedis(t *testing.T, c *redis.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.HSet(ctx, "h", "a", 1, "b", "two").Err())
	if got := c.HGetAll(ctx, "h").Val(); len(got) != 2 || got["b"] != "two" {
		t.Errorf("HGETALL: got %v", got)
	}
	if err := c.Get(ctx, "nope").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("GET of nothing: got %v", err)
	}
	check(c.Set(ctx, "s", "v", time.Minute).Err())
	if got := c.TTL(ctx, "s").Val(); got != time.Minute {
		t.Errorf("TTL: got %v", got)
	}
	cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 100 {
			p.LPush(ctx, "q", i)
		}
		return nil
	})
	check(err)
	if n := cmds[99].(*redis.IntCmd).Val(); n != 100 {
		t.Errorf("LPUSH: got %d", n)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				v, err := c.BRPop(ctx, time.Second, "q").Result()
				if errors.Is(err, redis.Nil) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[v[1]] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 100 {
		t.Errorf("BRPOP: got %d items, want 100", len(seen))
	}
	_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "n")
		p.SAdd(ctx, "set", "a", "b")
		return nil
	})
	check(err)
	for range 4 {
		wg.Go(func() {
			for {
				err := c.Watch(ctx, func(tx *redis.Tx) error {
					n, err := tx.Get(ctx, "n").Int()
					if err != nil {
						return err
					}
					_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "n", n+1, 0).Err() })
					return err
				}, "n")
				if errors.Is(err, redis.TxFailedErr) {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	if n := c.Get(ctx, "n").Val(); n != "5" {
		t.Errorf("WATCH: got %s, want 5", n)
	}
	if got := c.SMembersMap(ctx, "set").Val(); len(got) != 2 {
		t.Errorf("SMEMBERS: got %v", got)
	}
	for i := range 250 {
		check(c.HSet(ctx, fmt.Sprint("scan:", i), "a", 1).Err())
	}
	var keys []string
	for it := c.Scan(ctx, 0, "scan:*", 50).Iterator(); it.Next(ctx); {
		keys = append(keys, it.Val())
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) != 250 {
		t.Errorf("SCAN: got %d keys, want 250", len(keys))
	}
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	_, err = sub.Receive(ctx)
	check(err)
	check(c.Publish(ctx, "news", "hello").Err())
	m, err := sub.ReceiveMessage(ctx)
	check(err)
	if m.Payload != "hello" {
		t.Errorf("SUBSCRIBE: got %q", m.Payload)
	}
	if err := c.HSet(ctx, "context:7", "admins", "[]").Err(); err == nil || err.Error()[:6] != "NOPERM" {
		t.Errorf("a right that is missing: got %v", err)
	}
}

func TestRedisPy(t *testing.T) {
	python := redistest.Python(t)
	r := newRig(t)
	cmd := exec.CommandContext(t.Context(), python, "testdata/library.py", "redis://10:"+r.token(admin)+"@"+r.listen()+"/7")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
