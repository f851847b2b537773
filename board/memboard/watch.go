package memboard

import (
	"context"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
)

// watchBuffer is how many changes a watcher may be behind.
const watchBuffer = 256

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
func (b *Board) Watch(ctx context.Context, id board.Space, prefix string) (<-chan board.Event, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	s := b.space(id)
	w := &watcher{prefix: prefix, space: id, events: make(chan board.Event, watchBuffer+1)}
	s.watchers = append(s.watchers, w)
	w.stop = context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if i := slices.Index(s.watchers, w); i >= 0 {
			s.watchers = slices.Delete(s.watchers, i, i+1)
			w.end()
		}
	})
	return w.events, nil
}

func (w *watcher) end() {
	w.stop()
	close(w.events)
}

// tell reports a change of key to its watchers.
func (s *space) tell(key string) {
	for _, w := range s.watchers {
		if strings.HasPrefix(key, w.prefix) {
			w.tell(key)
		}
	}
}

// tell never waits. As long as the word that changes are missing has not been
// read, later changes need no word of their own: who reads it looks at
// everything anyway.
func (w *watcher) tell(key string) {
	switch n := len(w.events); {
	case w.lost && n > 0:
	case n < watchBuffer:
		w.lost = false
		w.events <- board.Event{Space: w.space, Key: key}
	default:
		w.lost = true
		w.events <- board.Event{Space: w.space}
	}
}
