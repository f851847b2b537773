// Package watch is what drivers of a board share of Watch: who watches what,
// and what a watcher that falls behind is told. It starts no goroutines.
package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ramet-run/ramet/board"
)

// buffer is how many changes a watcher may be behind.
const buffer = 256

// Watcher is one open watch. Its user sees to it that Tell, Miss and Close are
// not called at once.
type Watcher struct {
	Space  board.Space
	Prefix string
	// events has room for buffer changes and the word that some are missing.
	// Only Close closes it.
	events chan board.Event
	lost   bool // the last event in the buffer says that some are missing
}

// New returns a watcher of the keys with a prefix in a space.
func New(space board.Space, prefix string) *Watcher {
	return &Watcher{Space: space, Prefix: prefix, events: make(chan board.Event, buffer+1)}
}

// Events is what it is told.
func (w *Watcher) Events() <-chan board.Event { return w.events }

// Tell reports a change of key, if it watches that. It never waits. As long as
// the word that changes are missing has not been read, later changes need no
// word of their own: who reads it looks at everything anyway.
func (w *Watcher) Tell(key string) { w.TellOf(w.Space, key) }

// TellOf is Tell for one that watches several spaces.
func (w *Watcher) TellOf(space board.Space, key string) {
	switch n := len(w.events); {
	case !strings.HasPrefix(key, w.Prefix):
	case w.lost && n > 0:
	case n < buffer:
		w.lost = false
		w.events <- board.Event{Space: space, Key: key}
	default:
		w.Miss()
	}
}

// Miss says that changes may be missing. It never waits.
func (w *Watcher) Miss() {
	if w.lost && len(w.events) > 0 {
		return
	}
	w.lost = true
	w.events <- board.Event{Space: w.Space}
}

// Close ends what it is told.
func (w *Watcher) Close() { close(w.events) }

// Watchers are those of one board. The zero value has none. They are safe for
// concurrent use.
type Watchers struct {
	open atomic.Int64

	mu      sync.Mutex
	bySpace map[board.Space][]*open
}

// open is a watcher that ends with its context.
type open struct {
	*Watcher
	stop func() bool // keep the end of the context from ending it
}

// Open begins a watch that ends with ctx or End.
func (ws *Watchers) Open(ctx context.Context, space board.Space, prefix string) <-chan board.Event {
	w := &open{Watcher: New(space, prefix)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.bySpace == nil {
		ws.bySpace = map[board.Space][]*open{}
	}
	ws.bySpace[space] = append(ws.bySpace[space], w)
	ws.open.Add(1)
	w.stop = context.AfterFunc(ctx, func() { ws.remove(w) })
	return w.events
}

func (ws *Watchers) remove(w *open) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if i := slices.Index(ws.bySpace[w.Space], w); i >= 0 {
		ws.bySpace[w.Space] = slices.Delete(ws.bySpace[w.Space], i, i+1)
		ws.open.Add(-1)
		w.Close()
	}
}

// Any reports whether somebody watches; it costs nothing.
func (ws *Watchers) Any() bool { return ws.open.Load() > 0 }

// Tell reports a changed key to those who watch for it. It never waits.
func (ws *Watchers) Tell(space board.Space, key string) {
	if !ws.Any() {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.bySpace[space] {
		w.Tell(key)
	}
}

// End ends every watch: the board closes.
func (ws *Watchers) End() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.bySpace {
		for _, w := range list {
			w.stop()
			w.Close()
			ws.open.Add(-1)
		}
	}
	clear(ws.bySpace)
}
