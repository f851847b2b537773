package resp

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/keyspace"
)

// desk is where the clients of one space take turns. Whoever comes while nobody
// is served leads: it works off all who wait, in waves of one commit each, and
// hands the lead on. So commands of one space follow each other as they do in
// Redis, those of many clients share a commit, and nobody races another client
// of this node for an item.
type desk struct {
	door  *Door
	space board.Space

	mu   sync.Mutex
	busy bool
	line []*ask // those who wait, in order

	// Only the leader touches these.
	sheet   *sheet
	call    call                 // the one that is being done
	waiting map[string][]*waiter // those who wait for a key, in order of arrival

	// reading are the commands that only read, and need not wait for their turn:
	// what they read is in memory several times until it is an answer.
	reading *semaphore.Weighted

	watch watch
	// stored bounds what clients keep in the space.
	stored *stored
}

// queued is a command that waits for its turn.
type queued struct {
	spec *command
	args []string
}

// ask is what one client asks of a desk at once: some commands of its pipeline.
type ask struct {
	c    *client
	cmds []queued
	out  *answer
	// atomic: they are done in one commit, and answered as one array.
	atomic bool
	// unless are conditions without which an atomic ask is not done: WATCH.
	unless func(*sheet) (changed bool, err error)
	// stalled says that the next of the commands would wait, for there is
	// nothing; paused that so much was answered that it should be sent first. The
	// ask is done as far as that.
	stalled, paused bool
	// wait is set for a command that is to wait; waits says that it is in line.
	wait  *waiter
	waits bool
	// wake names lists that others may have changed; wakeAll says any may be.
	wake    []string
	wakeAll bool
	// forget is a waiter who waits no more.
	forget *waiter

	next   int  // how many of the commands are done
	looked bool // those who wait were looked after
	// turn gets true when the ask is to lead, false when it is done.
	turn chan bool
}

func (a *ask) done() bool {
	return (a.next >= a.steps() || a.stalled || a.paused) && a.wake == nil && !a.wakeAll && a.forget == nil
}

// tell lets the ask's client go on, unless it leads: the ask is the client's again.
func (a *ask) tell(lead *ask) (told bool) {
	if a != lead {
		a.turn <- false
	}
	return true
}

// steps is how far next goes: a MULTI without commands is answered too.
func (a *ask) steps() int {
	if a.atomic {
		return max(len(a.cmds), 1)
	}
	return len(a.cmds)
}

// run does an ask, and returns when it is done.
func (d *desk) run(a *ask) {
	d.mu.Lock()
	d.line = append(d.line, a)
	if d.busy {
		d.mu.Unlock()
		if lead := <-a.turn; !lead {
			return
		}
		d.mu.Lock()
	}
	d.busy = true
	asks := d.line
	d.line = nil
	d.mu.Unlock()
	d.serve(asks, a)
	d.mu.Lock()
	if len(d.line) > 0 { // the next one leads
		d.line[0].turn <- true
	} else {
		d.busy = false
	}
	d.mu.Unlock()
}

// read does a command that only reads, when few others of the space do.
//
// Errors: [domain.ErrUnavailable] when the door closes; those of the command.
func (d *desk) read(x *call, spec *command) error {
	n := int64(1)
	if spec.much {
		n = manyReads
	}
	leave, err := d.among(n)
	if err != nil {
		return err
	}
	defer leave()
	from := len(x.a.b)
	if err := d.safely(x, spec); err != nil {
		return err
	}
	if len(x.a.b)-from > maxAnswer {
		return errTooLarge
	}
	return x.c.hold()
}

// among waits until there is room for n of those who read, until leave is called.
//
// Errors: [domain.ErrUnavailable] when the door closes.
func (d *desk) among(n int64) (leave func(), err error) {
	if d.reading.Acquire(d.door.ctx, n) != nil {
		return nil, domain.Unavailablef("the node goes down")
	}
	return func() { d.reading.Release(n) }, nil
}

// Tries of a wave that another node, or the engine, was quicker than.
const (
	togetherTries = 3
	aloneTries    = 100
)

// serve works asks off, in the name of lead. All others are told as soon as theirs
// is done: their answers are to be sent before more are made.
func (d *desk) serve(asks []*ask, lead *ask) {
	tries, alone := 0, false
	for {
		asks = slices.DeleteFunc(asks, func(a *ask) bool { return a.done() && a.tell(lead) })
		w := d.compose(asks, alone)
		if w.units == 0 {
			break
		}
		err := w.spoilt
		if err == nil {
			err = d.commit()
		}
		switch {
		case err == nil:
			d.door.hub.tell(d.sheet.messages)
			d.accept(w)
			tries, alone = 0, false
			continue
		case errors.Is(err, domain.ErrConflict) && tries < aloneTries:
			tries++
			alone = alone || tries > togetherTries
		case errors.Is(err, domain.ErrConflict):
			d.refuse(w, errChanging)
			tries, alone = 0, false
			continue
		case !alone && w.units > 1 && (errors.Is(err, domain.ErrInvalid) || w.spoilt != nil):
			alone = true // whose fault it is shows when each is done alone
		default:
			d.refuse(w, err)
			tries, alone = 0, false
			continue
		}
		w.discard()
	}
	for _, a := range asks {
		a.tell(lead)
	}
}

func (d *desk) commit() error {
	s := d.sheet
	if len(s.batch.Ops) == 0 && (!s.strict || len(s.batch.Guards) > board.MaxOps) {
		return nil // what was only looked at needs no guards
	}
	if len(s.batch.Ops)+len(s.batch.Guards) == 0 {
		return nil
	}
	return d.door.cfg.Board.Commit(d.door.ctx, d.sheet.batch)
}

// wave is what goes into one commit, with all that is needed to take it back.
type wave struct {
	alone    bool // one command only, and nobody is served with it
	units    int
	answered int // bytes
	marks    []mark
	served   []*waiter
	// waits are those who begin to wait, if the wave is accepted.
	waits  []*ask
	spoilt error // a command broke down half way
}

// mark is where an ask stood before the wave.
type mark struct {
	a    *ask
	next int
	out  int
}

// discard takes the answers back.
func (w *wave) discard() {
	for _, m := range slices.Backward(w.marks) {
		m.a.next, m.a.looked, m.a.stalled, m.a.paused = m.next, false, false, false
		if m.a.out != nil {
			m.a.out.b = m.a.out.b[:m.out]
		}
	}
	for _, s := range w.served {
		s.out.b = s.out.b[:s.mark]
	}
}

// accept makes what a wave did so.
func (d *desk) accept(w *wave) {
	for _, s := range w.served {
		d.leave(s)
		s.served = true
		close(s.done)
	}
	for _, a := range w.waits {
		for _, key := range a.wait.keys {
			d.waiting[key] = append(d.waiting[key], a.wait)
		}
		a.waits = true
	}
	for _, m := range w.marks {
		if m.a.looked {
			m.a.wake, m.a.wakeAll, m.a.forget = nil, false, nil
		}
	}
}

// refuse answers what is in a wave with an error.
func (d *desk) refuse(w *wave, err error) {
	reached := make([]int, len(w.marks))
	for i, m := range w.marks {
		reached[i] = m.a.next
	}
	w.discard()
	for _, s := range w.served {
		d.fail(s.out, err)
	}
	for i, m := range w.marks {
		n := reached[i] - m.next
		if m.a.atomic {
			n = min(n, 1)
		}
		for range n {
			d.fail(m.a.out, err)
		}
		m.a.next = reached[i]
	}
	w.waits = nil
	d.accept(w)
}

// fail answers with an error, and logs what is not for clients.
func (d *desk) fail(out *answer, err error) {
	d.door.failed.Add(1)
	text, listed := textOf(err)
	if !listed {
		d.door.log.LogAttrs(d.door.ctx, slog.LevelError, "command failed", slog.Uint64("context", uint64(d.space)), slog.Any("err", err))
	}
	out.fail(text)
}

// compose does as much as goes into one commit, on a fresh sheet; alone, one
// command only.
func (d *desk) compose(asks []*ask, alone bool) *wave {
	d.sheet.reset(d.door.ctx)
	w := &wave{alone: alone}
	for _, a := range asks {
		if a.done() {
			continue
		}
		m := mark{a: a, next: a.next}
		if a.out != nil {
			m.out = len(a.out.b)
		}
		w.marks = append(w.marks, m)
		more := d.composeAsk(w, a)
		if !more || w.spoilt != nil || alone && w.units > 0 {
			break
		}
	}
	return w
}

// composeAsk does the commands of one ask. more is false when the wave is to be
// committed before anything else is done.
func (d *desk) composeAsk(w *wave, a *ask) (more bool) {
	switch {
	case a.forget != nil:
		w.units++
		d.leave(a.forget)
		a.looked = true
		return true
	case a.wakeAll, a.wake != nil:
		w.units++
		keys := a.wake
		if a.wakeAll {
			keys = slices.Collect(maps.Keys(d.waiting))
		}
		a.looked = d.serveWaiting(w, keys...)
		return a.looked
	case a.atomic:
		return d.composeAtomic(w, a)
	}
	for !a.done() {
		if d.sheet.full() || w.answered >= waveAnswers || w.units > 0 && w.alone {
			return false
		}
		if !d.composeOne(w, a) {
			return false
		}
	}
	return true
}

// composeOne does the next command of an ask. It returns false when that has to
// wait for a commit.
func (d *desk) composeOne(w *wave, a *ask) bool {
	q := a.cmds[a.next]
	if q.spec.class == keyspace.Pop && len(d.waiting) > 0 && !w.alone && !d.serveWaiting(w, q.spec.keys(q.args)...) {
		return false // who came first goes first
	}
	d.call = call{d: d, c: a.c, s: d.sheet, a: a.out, args: q.args, names: d.call.names}
	x := &d.call
	from := len(a.out.b)
	err := d.safely(x, q.spec)
	if err != nil {
		a.out.b = a.out.b[:from]
	}
	switch {
	case err == nil:
	case err == errFlush && w.units+len(d.sheet.batch.Ops) > 0:
		w.units = max(w.units, 1)
		return false
	case err == errFlush:
		d.fail(a.out, errTogether)
	case err == errBlock && a.wait != nil:
		w.waits = append(w.waits, a)
	case err == errBlock && q.spec.blocks:
		a.stalled = true
		w.units++
		return true
	case err == errBlock:
		q.spec.nothing(a.out)
	case brokeDown(err):
		w.spoilt = err
	default:
		d.fail(a.out, err)
	}
	w.answered += len(a.out.b) - from
	a.next++
	a.paused = a.next < len(a.cmds) && len(a.out.b) >= flushAt
	w.units++
	return w.spoilt == nil && d.servePushed(w)
}

// composeAtomic does a whole MULTI.
func (d *desk) composeAtomic(w *wave, a *ask) bool {
	if w.units > 0 {
		return false // on a sheet of its own: all that it reads is guarded
	}
	d.sheet.strict = true
	w.units++
	a.next = a.steps()
	if a.unless != nil {
		changed, err := a.unless(d.sheet)
		if err != nil {
			d.fail(a.out, err)
			return false
		}
		if changed {
			a.out.nullArray()
			return false
		}
	}
	from := len(a.out.b)
	a.out.array(len(a.cmds))
	for _, q := range a.cmds {
		x := &call{d: d, c: a.c, s: d.sheet, a: a.out, args: q.args}
		at := len(a.out.b)
		err := d.safely(x, q.spec)
		if err != nil {
			a.out.b = a.out.b[:at]
		}
		switch {
		case err == nil:
		case err == errFlush:
			d.fail(a.out, errTogether)
		case err == errBlock:
			q.spec.nothing(a.out)
		case brokeDown(err):
			w.spoilt = err
			return false
		default:
			d.fail(a.out, err)
		}
		if len(a.out.b)-from > maxAnswer && err == nil {
			if q.spec.writes { // what was popped must be told, or nothing be done
				return d.callOff(a, from, errTooLarge)
			}
			a.out.b = a.out.b[:at]
			d.fail(a.out, errTooLarge)
		}
	}
	if n := len(d.sheet.batch.Ops); n > 0 && n+len(d.sheet.batch.Guards) > board.MaxOps {
		return d.callOff(a, from, errBatch)
	}
	d.servePushed(w)
	return false
}

// callOff has nothing of a transaction done, whose answers begin at from.
func (d *desk) callOff(a *ask, from int, why error) (on bool) {
	d.sheet.reset(d.door.ctx)
	a.out.b = a.out.b[:from]
	d.fail(a.out, why)
	return false
}

// breakdown is a broken program: nothing of the wave can be trusted.
type breakdown struct{ what any }

func (b *breakdown) Error() string { return fmt.Sprintf("BUG: %v", b.what) }

func brokeDown(err error) bool {
	var b *breakdown
	return errors.As(err, &b)
}

// safely does a command; one that panics ends the command and not the node.
func (d *desk) safely(x *call, spec *command) (err error) {
	defer func() {
		if what := recover(); what != nil {
			d.door.log.Error("command broke down", "command", spec.name, "panic", fmt.Sprint(what), "stack", string(debug.Stack()))
			err = &breakdown{what}
		}
	}()
	return x.do(spec)
}
