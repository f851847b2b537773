package redisboard

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

// This file keeps the ready index right where foreign programs push: at once
// by keyspace events, at the latest by a slow look through the contexts.

// Pushes are gathered for a moment: settleSoon while somebody waits, which is
// long enough for a push by a board to have woken who waits without our help.
// Those on circles are not: it is foreign programs that push there, and wait.
const (
	settleSoon = time.Millisecond
	settleDown = 5 * time.Millisecond
)

// maxTouched is how many spaces one call of the script looks at.
const maxTouched = 500

// touches are spaces that are to be looked at, by queue group.
type touches struct {
	mu     sync.Mutex
	spaces map[string]map[board.Space]struct{}
	urgent bool          // somebody waits, or it is a circle
	now    bool          // both
	wake   chan struct{} // buffered 1: there is something
	hurry  chan struct{} // buffered 1: it is more urgent than what there was
	looks  chan struct{} // buffered 1: look through all contexts now
}

func (ts *touches) init() {
	ts.spaces = map[string]map[board.Space]struct{}{}
	ts.wake, ts.hurry, ts.looks = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
}

func (ts *touches) add(space board.Space, group string, urgent bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.spaces[group] == nil {
		ts.spaces[group] = map[board.Space]struct{}{}
	}
	ts.spaces[group][space] = struct{}{}
	circle := queue.NamePrefix(group) != ""
	if soon, now := urgent || circle, urgent && circle; soon && !ts.urgent || now && !ts.now {
		ts.urgent, ts.now = true, ts.now || now
		poke(ts.hurry)
	}
	poke(ts.wake)
}

// look asks for a look through all contexts.
func (ts *touches) look() { poke(ts.looks) }

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// pause is how long to gather more, and whether there is anything yet: pushes
// that came while others were looked at have been taken with those.
func (ts *touches) pause() (d time.Duration, any bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	switch {
	case ts.now:
		d = 0
	case ts.urgent:
		d = settleSoon
	default:
		d = settleDown
	}
	return d, len(ts.spaces) > 0
}

func (ts *touches) takeAll() map[string]map[board.Space]struct{} {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	all := ts.spaces
	ts.spaces, ts.urgent, ts.now = map[string]map[board.Space]struct{}{}, false, false
	return all
}

// touchLoop looks at the spaces that were pushed to. It ends with the board.
func (b *Board) touchLoop() {
	for {
		select {
		case <-b.touches.wake:
		case <-b.closing.Done():
			return
		}
		b.gather(time.Now())
		for group, spaces := range b.touches.takeAll() {
			list := make([]board.Space, 0, len(spaces))
			for s := range spaces {
				list = append(list, s)
			}
			// What fails here is found by the next look through all contexts.
			_ = b.touch(b.closing, group, list)
		}
	}
}

// gather waits for more pushes, as long as the most urgent of them allows.
func (b *Board) gather(began time.Time) {
	for {
		pause, any := b.touches.pause()
		left := pause - time.Since(began)
		if !any || left <= 0 || b.sleep(b.closing, left, b.touches.hurry) != nil {
			return
		}
	}
}

// touch puts those of the spaces into the ready index that have something,
// and wakes who waits for it.
func (b *Board) touch(ctx context.Context, group string, spaces []board.Space) error {
	lists := queue.Lists(group)
	head := append([]string{group, strconv.Itoa(len(lists))}, lists...)
	for len(spaces) > 0 {
		part := spaces[:min(maxTouched, len(spaces))]
		spaces = spaces[len(part):]
		args := head[:len(head):len(head)]
		for _, s := range part {
			if b.checkSpace(s) == nil {
				args = append(args, decimal(s))
			}
		}
		m, err := b.read(ctx, "touch", 0, args...)
		if err != nil {
			return err
		}
		filled, err := m.AsInt64()
		if err != nil {
			return b.translate(err)
		}
		b.line.wake(group, int(filled))
	}
	return nil
}

// The look through the contexts goes on every Config.Poll for a share of that, each
// 1/n: a large one after a connection was lost, when a board claims from other queues
// than before, and all the time where the server tells of no pushes. So it costs no more
// with many contexts; it takes longer.
const (
	soonShare = 4
	calmShare = 300
	// reconcilePage is about how many contexts are looked at between two looks at the clock.
	reconcilePage = "100"
)

// gaze is where the look through all contexts is.
type gaze struct {
	cursor string
	soon   bool // something may have been missed
}

// reconcileLoop looks through the contexts now and then: for pushes that no
// message has told of. It ends with the board.
func (b *Board) reconcileLoop() {
	tick := time.NewTicker(b.poll)
	defer tick.Stop()
	g := gaze{cursor: "0"}
	for {
		select {
		case <-tick.C:
		case <-b.touches.looks:
			g = gaze{cursor: "0", soon: true}
		case <-b.closing.Done():
			return
		}
		if err := b.readClock(b.closing); err != nil && b.closing.Err() == nil {
			b.log.Debug("the server's clock could not be read", "err", err)
		}
		if err := b.adopt(b.closing); err != nil && b.closing.Err() == nil {
			b.log.Debug("contexts made by hand not looked for", "err", err)
		}
		if err := b.reconcile(b.closing, &g); err != nil && b.closing.Err() == nil {
			b.log.Debug("look through contexts ended early", "err", err)
		}
	}
}

// adopt puts the contexts whose record somebody has written by hand among all: seed 000
// knows no list of them. Where contexts are prefixes in one database, looking for such
// records would cost as much as the database is large: there it is left to whoever
// writes them.
func (b *Board) adopt(ctx context.Context) error {
	if b.tenancy != TenancyDB {
		return nil
	}
	info, err := b.client.Do(ctx, b.client.B().Info().Section("keyspace").Build()).ToString()
	if err != nil {
		return b.translate(err)
	}
	known, err := b.Members(ctx, 0, contexts, "", maxDatabases)
	if err != nil {
		return err
	}
	var found board.Batch
	for name := range parseInfo(info) {
		id, ok := strings.CutPrefix(name, "db")
		n, err := strconv.ParseUint(id, 10, 32)
		if !ok || err != nil || n == 0 || slices.Contains(known, id) {
			continue
		}
		if s, err := b.Stat(ctx, board.Space(n), "context:"+id); err != nil {
			return err
		} else if s[0].Kind == board.KindRecord {
			found.Include(contexts, id)
		}
	}
	if len(found.Ops) == 0 {
		return nil
	}
	return b.Commit(ctx, found)
}

// contexts is the set of the ids of all contexts, in space 0; maxDatabases bounds how
// many of them are databases.
const (
	contexts     = "contexts"
	maxDatabases = 100_000
)

// reconcile touches contexts, as many as the share of the time allows and at least some,
// for the groups that this board claims from.
func (b *Board) reconcile(ctx context.Context, g *gaze) error {
	groups := b.line.names()
	if len(groups) == 0 {
		return nil
	}
	budget := b.poll / calmShare
	if g.soon || !b.facts.Load().events {
		budget = b.poll / soonShare
	}
	for began := time.Now(); ; {
		m, err := b.read(ctx, "members", 0, contexts, g.cursor, reconcilePage)
		if err != nil {
			return err
		}
		page, err := m.AsScanEntry()
		if err != nil {
			return b.translate(err)
		}
		spaces := []board.Space{0}
		for _, id := range page.Elements {
			if n, err := strconv.ParseUint(id, 10, 32); err == nil {
				spaces = append(spaces, board.Space(n))
			}
		}
		for _, group := range groups {
			if err := b.touch(ctx, group, spaces); err != nil {
				return err
			}
		}
		g.cursor = strconv.FormatUint(page.Cursor, 10)
		if page.Cursor == 0 {
			g.soon = false
			return nil
		}
		if time.Since(began) > budget {
			return nil
		}
	}
}
