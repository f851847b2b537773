package resp

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/keyspace"
)

// This file is about clients that wait for an item: BLPOP and its kind.

// errBlock says that there is nothing to be had now.
var errBlock = errors.New("nothing there")

// waiter is a client that waits until a command of its can be done.
type waiter struct {
	c    *client
	q    queued
	keys []string
	out  *answer
	mark int
	took [2]string // the list and the item that it was served
	// gone is set when its client has: it gets nothing any more.
	gone atomic.Bool
	done chan struct{} // closed by the desk when it has been answered

	// The desk's, until done is closed or it was left:
	served bool
}

// linger does a command for which there was nothing: it waits for one of its
// keys, after everything before it was answered.
func (c *client) linger(q queued) {
	most, _ := timeout(q.args[len(q.args)-1]) // looked at before
	if c.flush() != nil {
		c.quit = true
		return
	}
	w := &waiter{c: c, q: q, keys: q.spec.waitsFor(q.args), out: &c.out, done: make(chan struct{})}
	if err := c.desk.hold(w.keys...); err != nil {
		c.fail(err)
		return
	}
	defer c.desk.release(w.keys...)
	// Again, now that no change can be missed.
	a := &ask{c: c, cmds: []queued{q}, out: &c.out, wait: w, turn: c.ask.turn}
	if c.desk.run(a); !a.waits {
		return
	}
	switch err := c.sit(w, most); {
	case err != nil:
		c.fail(err)
	case !w.served:
		q.spec.nothing(&c.out)
	}
}

// sit waits until a waiter is served, its time has run out, or its client or the
// door goes. When it returns the waiter waits no more.
func (c *client) sit(w *waiter, most time.Duration) (err error) {
	went, stop := c.listen()
	var out <-chan time.Time
	if most > 0 {
		t := time.NewTimer(most)
		defer t.Stop()
		out = t.C
	}
	may, session := c.hang(w)
	defer session.Close()
	for waits := true; waits; {
		select {
		case <-w.done:
			stop()
			select {
			case <-went: // in the same moment
				c.quit = true
				c.giveBack(w)
			default:
			}
			return nil
		case <-out:
			waits = false
		case <-went:
			w.gone.Store(true)
			waits, c.quit = false, true
		case <-c.door.closing:
			waits, err = false, domain.Unavailablef("the node goes down")
		case <-may.Done():
			waits, err = false, c.lost(session)
		}
	}
	stop()
	c.desk.run(&ask{forget: w, turn: make(chan bool, 1)})
	if !w.served {
		return err
	}
	if c.quit {
		c.giveBack(w)
	}
	return nil
}

// hang opens a session for a client that waits: it ends when the client may take
// nothing from one of the keys any more.
func (c *client) hang(w *waiter) (context.Context, *identity.Session) {
	ctx, session := c.door.cfg.Tokens.Open(c.door.ctx, c.who)
	for _, key := range w.keys {
		kind := keyspace.Of(c.space, key)
		session.Hang(c.asks(kind.Right(w.q.spec.class, key, c.who.Actor).Verb, c.space, key, kind.Group))
	}
	return ctx, session
}

// lost is why a client waits no longer whose session has ended.
func (c *client) lost(session *identity.Session) error {
	if err := session.Err(); err != nil && !errors.Is(err, domain.ErrUnauthenticated) {
		return err
	}
	return cmp.Or(c.proven(), asNoAuth(session.Err()), domain.Unavailablef("the node goes down"))
}

// giveBack puts back what a waiter was served whose client has gone.
func (c *client) giveBack(w *waiter) {
	if w.q.spec.undo != nil && w.took[0] != "" {
		w.q.spec.undo(c, w)
	}
}

// maxAhead is how much is read of what a client sends while it waits.
const maxAhead = 64 << 10

// listen reads on while the client waits, so that its going is noticed. stop
// ends that.
func (c *client) listen() (went <-chan struct{}, stop func()) {
	left, ended := make(chan struct{}), make(chan struct{})
	if c.arm(time.Time{}) != nil {
		return left, func() {}
	}
	go func() {
		defer close(ended)
		for c.r.end-c.r.start < maxAhead {
			if err := c.r.fill(); err != nil {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					close(left)
				}
				return
			}
		}
	}()
	return left, func() {
		_ = c.arm(time.Unix(1, 0)) // a closing door has done it
		<-ended
	}
}

// leave takes a waiter off the lists of those who wait.
func (d *desk) leave(w *waiter) {
	for _, key := range w.keys {
		list := d.waiting[key]
		if i := slices.Index(list, w); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		if len(list) == 0 {
			delete(d.waiting, key)
		} else {
			d.waiting[key] = list
		}
	}
}

// servePushed serves those who wait for what commands have just pushed. It
// returns false when the wave is to be committed first.
func (d *desk) servePushed(w *wave) bool {
	if len(d.waiting) == 0 {
		d.sheet.pushed = d.sheet.pushed[:0]
		return true
	}
	for len(d.sheet.pushed) > 0 {
		keys := d.sheet.pushed
		d.sheet.pushed = nil // serving may push on other lists
		if w.alone || !d.serveWaiting(w, keys...) {
			// Who is left is looked after when this wave is committed.
			d.door.wg.Go(func() { d.run(&ask{wake: keys, turn: make(chan bool, 1)}) })
			return false
		}
	}
	return true
}

// serveWaiting serves those who wait for some keys, in order of arrival, as
// long as there is something for them. It returns false when the wave is to be
// committed before all of them could be looked after.
func (d *desk) serveWaiting(w *wave, keys ...string) bool {
	for _, key := range keys {
		for _, wt := range d.waiting[key] {
			if wt.gone.Load() || slices.Contains(w.served, wt) {
				continue
			}
			if d.sheet.full() {
				return false
			}
			switch err := d.serveOne(w, wt); {
			case err == errFlush && w.units+len(d.sheet.batch.Ops) > 0:
				w.units = max(w.units, 1)
				return false
			case w.spoilt != nil:
				return false
			}
			if !slices.Contains(w.served, wt) {
				break // there is nothing more
			}
		}
	}
	return true
}

// serveOne does the command of one who waits.
func (d *desk) serveOne(w *wave, wt *waiter) error {
	wt.mark = len(wt.out.b)
	x := &call{d: d, c: wt.c, s: d.sheet, a: wt.out, args: wt.q.args}
	err := d.safely(x, wt.q.spec)
	if err != nil {
		wt.out.b = wt.out.b[:wt.mark]
	}
	if err == errBlock || err == errFlush {
		return err
	}
	if brokeDown(err) {
		w.spoilt = err
	} else if err != nil {
		d.fail(wt.out, err)
	}
	wt.took = x.took
	w.served = append(w.served, wt)
	w.units++
	return nil
}

// watch tells a desk what others than its own clients change: the engine, other
// nodes. It is open while somebody waits, and a while longer.
type watch struct {
	mu     sync.Mutex
	users  int
	stop   context.CancelFunc // nil: closed
	idle   *time.Timer
	wanted map[string]int // how many wait for a key
}

// watchLinger is how long a watch stays open that nobody needs: the next one to
// wait comes soon.
const watchLinger = time.Minute

// hold opens the watch, if it is not open, for somebody who wants to know of
// some keys. Release it with the same keys.
func (d *desk) hold(keys ...string) error {
	w := &d.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users++
	for _, key := range keys {
		w.wanted[key]++
	}
	if w.idle != nil {
		w.idle.Stop()
	}
	if w.stop != nil {
		return nil
	}
	ctx, stop := context.WithCancel(d.door.ctx)
	events, err := d.door.cfg.Board.Watch(ctx, d.space, "")
	if err != nil {
		stop()
		w.drop(keys)
		return err
	}
	w.stop = stop
	d.door.wg.Go(func() { d.follow(ctx, events) })
	return nil
}

// drop forgets a user.
func (w *watch) drop(keys []string) {
	w.users--
	for _, key := range keys {
		if w.wanted[key]--; w.wanted[key] == 0 {
			delete(w.wanted, key)
		}
	}
}

func (d *desk) release(keys ...string) {
	w := &d.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.drop(keys); w.users > 0 || w.stop == nil {
		return
	}
	stop := w.stop
	w.idle = time.AfterFunc(watchLinger, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.users == 0 && w.stop != nil {
			stop()
			w.stop = nil
		}
	})
}

func (w *watch) wants(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted[key] > 0
}

// watchPause is how long a desk waits before it opens a watch again that the
// board has ended.
const watchPause = time.Second

// follow passes changes on until the watch is closed.
func (d *desk) follow(ctx context.Context, events <-chan board.Event) {
	a := &ask{turn: make(chan bool, 1)}
	for {
		for e := range events {
			d.gather(a, e, events)
			if a.wake != nil || a.wakeAll {
				d.run(a)
			}
		}
		if events = d.reopen(ctx); events == nil {
			return
		}
		a.wakeAll = true
		d.run(a)
	}
}

// gather takes in a change, and those behind it that are there already.
func (d *desk) gather(a *ask, e board.Event, events <-chan board.Event) {
	for open := true; open; {
		d.noticed(a, e)
		select {
		case e, open = <-events:
		default:
			return
		}
	}
}

// reopen watches again after the board has ended a watch. It returns nil when
// the watch is closed.
func (d *desk) reopen(ctx context.Context) <-chan board.Event {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchPause):
		}
		events, err := d.door.cfg.Board.Watch(ctx, d.space, "")
		if err == nil {
			return events
		}
		d.door.log.Warn("board not watched; those who wait may wait too long", "context", uint32(d.space), "err", err)
	}
}

// noticed takes one change in.
func (d *desk) noticed(a *ask, e board.Event) {
	d.door.hub.changed(d.space, e.Key)
	switch {
	case e.Key == "" || e.Key == board.LimitsKey:
		a.wakeAll = true
	case d.watch.wants(e.Key) && !slices.Contains(a.wake, e.Key):
		a.wake = append(a.wake, e.Key)
	}
}
