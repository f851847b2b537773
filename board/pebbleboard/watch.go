package pebbleboard

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ramet-run/ramet/board"
)

// watchBuffer is how many changes a watcher may be behind.
const watchBuffer = 256

// watch is everybody who watches.
type watch struct {
	open atomic.Int64 // watchers: the committer notes changes only if there are any

	mu       sync.Mutex
	watchers map[board.Space][]*watcher
}

// watcher is one open Watch.
type watcher struct {
	prefix string
	space  board.Space
	// events has room for watchBuffer changes and the word that some are
	// missing. Only end closes it.
	events chan board.Event
	lost   bool // the last event in the buffer says that some are missing
	stop   func() bool
}

// Watch implements [board.Board].
func (b *Board) Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	v := &watcher{prefix: prefix, space: space, events: make(chan board.Event, watchBuffer+1)}
	w := &b.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchers[space] = append(w.watchers[space], v)
	w.open.Add(1)
	v.stop = context.AfterFunc(ctx, func() { w.remove(v) })
	return v.events, nil
}

func (w *watch) remove(v *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.watchers[v.space], v); i >= 0 {
		w.watchers[v.space] = slices.Delete(w.watchers[v.space], i, i+1)
		w.open.Add(-1)
		v.end()
	}
}

// endAll ends every watch: the board closes.
func (w *watch) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, vs := range w.watchers {
		for _, v := range vs {
			v.end()
		}
	}
	clear(w.watchers)
}

func (v *watcher) end() {
	v.stop()
	close(v.events)
}

// tell reports changed keys. It never waits.
func (w *watch) tell(ids []ident) {
	if len(ids) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		for _, v := range w.watchers[id.space] {
			if strings.HasPrefix(id.name, v.prefix) {
				v.tell(id.name)
			}
		}
	}
}

// tell reports one key. As long as the word that changes are missing has not
// been read, later changes need no word of their own: who reads it looks at
// everything anyway.
func (v *watcher) tell(key string) {
	switch n := len(v.events); {
	case v.lost && n > 0:
	case n < watchBuffer:
		v.lost = false
		v.events <- board.Event{Space: v.space, Key: key}
	default:
		v.lost = true
		v.events <- board.Event{Space: v.space}
	}
}
