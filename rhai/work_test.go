package rhai_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// TestQueuesAndTablesAreCheap uses large containers in ways that take no longer than with small ones.
func TestQueuesAndTablesAreCheap(t *testing.T) {
	watched.Alone(t)
	for name, script := range map[string]string{
		"a queue":    `let a = []; a.pad(50_000, 0); for i in 0..1000 { a.push(i); a.shift(); } a.len`,
		"bytes":      `let b = blob(800_000); for i in 0..1000 { b.push(i); b.shift(); } b.len`,
		"a table":    `let m = big; for i in 0..1000 { m.set("x", i); m.contains("x"); m.remove("x"); } m.len()`,
		"characters": `let s = ""; s.pad(800_000, "x"); for i in 0..1000 { s.get(i); s.pop(); s.len; } s.len`,
	} {
		t.Run(name, func(t *testing.T) {
			e := rhai.NewEngine()
			e.MaxOperations = 60_000
			entries := map[string]int{}
			for i := range 50_000 {
				entries[time.Duration(i).String()] = i
			}
			big, err := value.From(entries)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.EvalWith(t.Context(), script, rhai.NewScope().Set("big", big)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLargeWorkEndsSoon cancels scripts whose calls each work through much data.
func TestLargeWorkEndsSoon(t *testing.T) {
	for _, script := range []string{
		`let a = ["xxxxxxxxxxxxxxxx"]; for i in 0..60 { a = [a, a] } loop { a.to_debug() }`,
		`let a = #{a: 1}; for i in 0..60 { a = #{a: a, b: a} } loop { try { a.to_json() } catch { } }`,
		`let s = ""; s.pad(500_000, "é"); loop { s.set(400_000, 'x') }`,
		`let s = ""; s.pad(500_000, "é"); loop { s.chars(400_000) }`,
		`let a = []; a.pad(500_000, 0); let b = []; loop { b.append(a); b.clear() }`,
	} {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		began := time.Now()
		got := outcome(t, rhai.NewEngine(), ctx, script)
		took := time.Since(began)
		stop()
		if diff := cmp.Diff("ErrorTerminated", got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", script, diff)
		}
		// Generous: machines can be busy. Without counting it is many seconds.
		if took > 2*time.Second {
			t.Errorf("%s: took %v", script, took)
		}
	}
}

// TestAScriptLetsOthersGoFirst counts how often something else comes to the only processor while a script computes.
func TestAScriptLetsOthersGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	done := make(chan error)
	go func() {
		_, err := rhai.NewEngine().Eval(t.Context(), `let x = 0; for i in 0..2_000_000 { x += i }`)
		done <- err
	}()
	for turns := 0; ; turns++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			// A turn for each 4,096 operations; left to the scheduler it is one in 10 ms.
			if turns < 300 {
				t.Errorf("others had %d turns, want 300 or more", turns)
			}
			return
		default:
			runtime.Gosched()
		}
	}
}
