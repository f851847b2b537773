package redisboard

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/watch"
)

// maxTopics is how many spaces are listened to one by one; with more, all are:
// the server compares every change with every pattern.
const maxTopics = 16

// watches are the open watches, and the topics they need.
type watches struct {
	mu     sync.Mutex
	open   map[board.Space][]*watcher
	takes  []*watcher     // those of Taken, which are of all spaces
	topics map[string]int // patterns in use, with their watchers
}

// watcher is one open Watch; it is told and closed under watches.mu.
type watcher struct {
	*watch.Watcher
	topic string
}

func (ws *watches) init() {
	ws.open, ws.topics = map[board.Space][]*watcher{}, map[string]int{}
}

// Watch implements [board.Board]. Changes by foreign programs are seen where
// the server tells of keyspace events.
func (b *Board) Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := b.checkSpace(space); err != nil {
		return nil, err
	}
	if !b.begin() {
		return nil, errClosed()
	}
	defer b.calls.Done()
	events, err := b.watchEvents(ctx)
	if err != nil {
		return nil, err
	}
	w := &watcher{watch.New(space, prefix), changesTopic}
	if events {
		w.topic = b.watches.pick(b.topic(space))
	}
	return b.follow(ctx, w)
}

// Taken reports the queues from which somebody takes items by himself: a foreign
// runner, with BRPOP, LMOVE or another pop. The board's own claims are none of
// these. Which item it was nobody tells. An event with an empty Key says that some
// may have been missed; where the server tells of no keyspace events, none come.
// The channel is closed when ctx ends. Errors: as of Watch.
func (b *Board) Taken(ctx context.Context) (<-chan board.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !b.begin() {
		return nil, errClosed()
	}
	defer b.calls.Done()
	return b.follow(ctx, &watcher{watch.New(0, ""), popPattern})
}

// popPattern are the pops of everybody. No script of ours pops.
const popPattern = "__keyevent@*__:[lr]pop"

// follow opens a watcher, until ctx ends.
func (b *Board) follow(ctx context.Context, w *watcher) (<-chan board.Event, error) {
	if b.watches.add(w) {
		if err := b.tuneSoon(ctx, subscription(w.topic, true)); err != nil {
			b.watches.drop(w)
			return nil, err
		}
	}
	context.AfterFunc(ctx, func() {
		if b.watches.drop(w) && b.begin() {
			defer b.calls.Done()
			_ = b.tune(b.closing, subscription(w.topic, false)) // without it, messages are ignored
		}
	})
	return w.Events(), nil
}

// changesTopic is where scripts tell of changes for boards that cannot have
// keyspace events.
const changesTopic = "ramet:changes"

// everywhere is the pattern of all changes in all databases.
const everywhere = "__keyspace@*__:*"

// topic is the pattern of all changes in a space.
func (b *Board) topic(space board.Space) string {
	if b.tenancy == TenancyDB {
		return "__keyspace@" + decimal(space) + "__:*"
	}
	return "__keyspace@0__:" + escape(b.prefix(space)) + "*"
}

func subscription(topic string, on bool) func(rueidis.Builder) rueidis.Completed {
	return func(b rueidis.Builder) rueidis.Completed {
		switch {
		case topic == changesTopic && on:
			return b.Subscribe().Channel(topic).Build()
		case topic == changesTopic:
			return b.Unsubscribe().Channel(topic).Build()
		case on:
			return b.Psubscribe().Pattern(topic).Build()
		}
		return b.Punsubscribe().Pattern(topic).Build()
	}
}

// pick is the topic a new watcher of a space uses.
func (ws *watches) pick(topic string) string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.topics[topic] == 0 && len(ws.topics) >= maxTopics {
		return everywhere
	}
	return topic
}

// add opens a watcher, and reports whether its topic is new.
func (ws *watches) add(w *watcher) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.topic == popPattern {
		ws.takes = append(ws.takes, w)
	} else {
		ws.open[w.Space] = append(ws.open[w.Space], w)
	}
	ws.topics[w.topic]++
	return ws.topics[w.topic] == 1
}

// drop ends a watcher, and reports whether its topic is no longer needed.
func (ws *watches) drop(w *watcher) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var i int
	if w.topic == popPattern {
		if i = slices.Index(ws.takes, w); i >= 0 {
			ws.takes = slices.Delete(ws.takes, i, i+1)
		}
	} else if i = slices.Index(ws.open[w.Space], w); i >= 0 {
		ws.open[w.Space] = slices.Delete(ws.open[w.Space], i, i+1)
	}
	if i < 0 {
		return false
	}
	w.Close()
	ws.topics[w.topic]--
	if ws.topics[w.topic] == 0 {
		delete(ws.topics, w.topic)
		return true
	}
	return false
}

// endAll ends all watchers.
func (ws *watches) endAll() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.open {
		for _, w := range list {
			w.Close()
		}
	}
	for _, w := range ws.takes {
		w.Close()
	}
	ws.takes = nil
	clear(ws.open)
	clear(ws.topics)
}

// any reports whether changes of keys are watched.
func (ws *watches) any() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return len(ws.topics) > 1 || len(ws.topics) == 1 && len(ws.takes) == 0
}

// list is what a new subscription needs: channels and patterns.
func (ws *watches) list() (names, patterns []string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for t := range ws.topics {
		if t == changesTopic {
			names = append(names, t)
		} else {
			patterns = append(patterns, t)
		}
	}
	return names, patterns
}

// tell reports a change to those who watch for it.
func (ws *watches) tell(space board.Space, key string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.open[space] {
		w.Tell(key)
	}
}

// popped reports a pop to those who follow them.
func (ws *watches) popped(space board.Space, list string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.takes {
		w.TellOf(space, list)
	}
}

// missed tells all watchers that they may have missed something.
func (ws *watches) missed() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.open {
		for _, w := range list {
			w.Miss()
		}
	}
	for _, w := range ws.takes {
		w.Miss()
	}
}
