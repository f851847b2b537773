package watch_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/watch"
)

func TestAWatcherThatFallsBehindIsToldOnceAndGoesOn(t *testing.T) {
	w := watch.New(1, "job:")
	w.Tell("flow:1")
	for i := range 1000 {
		w.Tell("job:" + strconv.Itoa(i))
	}
	read := func() (keys, gaps int) {
		for len(w.Events()) > 0 {
			if e := <-w.Events(); e.Key == "" {
				gaps++
			} else {
				keys++
			}
		}
		return keys, gaps
	}
	if keys, gaps := read(); keys != 256 || gaps != 1 {
		t.Errorf("got %d keys and %d gaps, want 256 and 1", keys, gaps)
	}
	w.Tell("job:1")
	w.Miss()
	w.Miss()
	w.Tell("job:2")
	if keys, gaps := read(); keys != 1 || gaps != 1 {
		t.Errorf("got %d keys and %d gaps, want 1 and 1", keys, gaps)
	}
}

func TestAWatchEndsWithItsContextOrTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ws watch.Watchers
		ws.Tell(1, "nobody watches")
		ctx, cancel := context.WithCancel(t.Context())
		first, second := ws.Open(ctx, 1, "a"), ws.Open(t.Context(), 1, "")
		ws.Tell(2, "ab")
		ws.Tell(1, "ab")
		want := board.Event{Space: 1, Key: "ab"}
		if a, b := <-first, <-second; a != want || b != want {
			t.Errorf("got %v and %v, want %v twice", a, b, want)
		}
		cancel()
		synctest.Wait()
		if _, open := <-first; open || !ws.Any() {
			t.Errorf("after its context: open %v, any %v, want false and true", open, ws.Any())
		}
		ws.End()
		if _, open := <-second; open || ws.Any() {
			t.Errorf("after the end: open %v, any %v, want false twice", open, ws.Any())
		}
	})
}
