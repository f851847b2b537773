package resp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// client is one connection. One goroutine reads and answers; a second one
// sends what comes without being asked for, once the client has subscribed.
type client struct {
	door  *Door
	id    int64
	conn  net.Conn
	since time.Time
	r     *reader

	// actor is who it is; 0 until that is known.
	actor domain.ActorID
	local bool
	// token proved it, at provenAt; "" on a local socket.
	token    string
	provenAt time.Time
	tries    int // wrong tokens

	space board.Space
	desk  *desk // of that space; nil in none yet
	name  string

	// partial is when the command began to arrive that is not there wholly.
	partial time.Time

	out   answer
	ask   ask // the commands of the stretch that is gathered
	bytes int // their arguments
	sheet *sheet

	multi *transaction
	watch *watched
	sub   *subscriber

	role memo
	last string // the command done last, for CLIENT LIST
	quit bool

	writing sync.Mutex // of what goes to conn
	arming  sync.Mutex
	waking  bool // the door closes
}

// memo is a client's role in a space, for as long as asking anew would give the
// same answer from memory.
type memo struct {
	space  board.Space
	tenant domain.Tenant
	until  time.Time
}

const memoFor = 10 * time.Millisecond

func newClient(d *Door, conn net.Conn) *client {
	c := &client{door: d, id: d.lastID.Add(1), conn: conn, since: time.Now(), r: newReader(conn, &d.memory)}
	c.ask = ask{c: c, out: &c.out, turn: make(chan bool, 1)}
	if p, local := localPeer(conn); local && p.Check() == nil {
		c.local = true
		c.become(domain.Operator)
	}
	return c
}

// become takes a proof of who the client is.
func (c *client) become(who domain.ActorID) {
	if c.actor == 0 && !c.local {
		c.door.strangers.Add(-1)
	}
	c.actor, c.r.trusted, c.role = who, true, memo{}
	c.enter(c.space)
}

// enter selects a space.
func (c *client) enter(space board.Space) {
	c.space, c.desk, c.sheet = space, c.door.desk(space), nil
}

// serve answers until the client or the door goes.
func (c *client) serve() {
	defer c.close()
	for !c.quit {
		if len(c.ask.cmds) == 0 {
			c.r.reuse()
		}
		args, ok, err := c.r.next()
		switch {
		case err != nil:
			c.run()
			text, _ := textOf(err)
			c.out.fail(text)
			c.flush()
			return
		case ok:
			c.take(args)
			continue
		}
		waited := c.run()
		if c.flush() != nil {
			return
		}
		if waited {
			continue // more has arrived meanwhile
		}
		if err := c.await(); err != nil {
			if errors.Is(err, errCrowded) {
				c.out.fail(errCrowded.Error())
				c.flush()
			}
			return
		}
	}
	c.run()
	c.flush()
}

// await waits for more to arrive: for long between two commands, not so long
// within one.
func (c *client) await() error {
	deadline := time.Time{}
	if c.r.partial() {
		if c.partial.IsZero() {
			c.partial = time.Now()
		}
		deadline = c.partial.Add(commandTime)
	}
	if c.actor == 0 {
		if by := c.since.Add(authTime); deadline.IsZero() || by.Before(deadline) {
			deadline = by
		}
	}
	prove := c.sub.active() && c.token != "" && deadline.IsZero()
	if prove { // it gets something without asking: its token must be looked at all the same
		deadline = time.Now().Add(provenFor)
	}
	if err := c.arm(deadline); err != nil {
		return err
	}
	err := c.r.fill()
	if prove && errors.Is(err, os.ErrDeadlineExceeded) && c.arm(time.Time{}) == nil {
		if err = c.proven(); err != nil {
			c.fail(err)
			c.quit = true
		}
		return nil
	}
	return err
}

// arm sets the deadline of reading, unless the door closes.
func (c *client) arm(deadline time.Time) error {
	c.arming.Lock()
	defer c.arming.Unlock()
	if c.waking {
		return os.ErrDeadlineExceeded
	}
	return c.conn.SetReadDeadline(deadline)
}

// wakeUp ends a client's reading for good: the door closes.
func (c *client) wakeUp() {
	c.arming.Lock()
	defer c.arming.Unlock()
	c.waking = true
	_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // a connection that is gone needs no waking
}

// close gives back what the client holds.
func (c *client) close() {
	c.endMulti()
	if c.sub != nil {
		c.door.hub.leave(c.sub)
	}
	c.conn.Close()
	c.r.close()
	if c.actor == 0 && !c.local {
		c.door.strangers.Add(-1)
	}
}

// take does a command, or adds it to the stretch.
func (c *client) take(args []string) {
	c.door.commands.Add(1)
	c.partial = time.Time{}
	spec := find(args[0])
	if err := c.admit(spec, args); err != nil {
		c.run()
		if c.multi != nil {
			c.multi.broken = true
		}
		c.fail(err)
		return
	}
	if c.multi != nil && !spec.atOnce {
		c.multi.queue(c, queued{spec, args})
		return
	}
	if spec.run == nil {
		c.run()
		if err := c.safely(spec, args); err != nil {
			c.fail(err)
		}
		return
	}
	c.ask.cmds = append(c.ask.cmds, queued{spec, args})
	for _, a := range args {
		c.bytes += len(a)
	}
	if len(c.ask.cmds) >= stretchCommands || c.bytes >= stretchBytes {
		c.run()
	}
}

// safely does a command on the connection; one that panics ends the command and
// not the node.
func (c *client) safely(spec *command, args []string) (err error) {
	defer func() {
		if what := recover(); what != nil {
			c.door.log.Error("command broke down", "command", spec.name, "panic", fmt.Sprint(what), "stack", string(debug.Stack()))
			err = &breakdown{what}
		}
	}()
	return spec.conn(c, args)
}

// admit refuses what is no command, or not for this client now.
func (c *client) admit(spec *command, args []string) error {
	switch {
	case c.actor == 0 && (spec == nil || !spec.open):
		return errNoAuth
	case spec == nil:
		return errUnknown(args)
	case !spec.fits(len(args)):
		return errArity(spec.name)
	case c.sub.active() && !c.out.three && !spec.inSub:
		return failure("ERR Can't execute '" + spec.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	case spec.blocks:
		if _, err := timeout(args[len(args)-1]); err != nil {
			return err
		}
	}
	if spec.open {
		return nil
	}
	return c.proven()
}

// proven looks again at the token after a while: it may have run out, or its
// actor may have another key.
func (c *client) proven() error {
	if c.token == "" || time.Since(c.provenAt) < provenFor {
		return nil
	}
	who, err := c.door.verifier.Verify(c.door.ctx, c.token)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated), err == nil && who != c.actor:
		return failure("NOAUTH " + errText(err, "the token is another actor's now") + "; send AUTH again")
	case err != nil:
		return err
	}
	c.provenAt = time.Now()
	return nil
}

func errText(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}

// run does the stretch that was gathered. waited says that a command of it had
// to wait.
func (c *client) run() (waited bool) {
	if len(c.ask.cmds) == 0 {
		return false
	}
	c.last = c.ask.cmds[len(c.ask.cmds)-1].spec.name
	if c.onlyReads() {
		c.read()
	} else {
		c.desk.run(&c.ask)
	}
	for (c.ask.stalled || c.ask.paused) && !c.quit {
		if c.ask.stalled {
			waited = true
			c.linger(c.ask.cmds[c.ask.next])
			c.ask.next++
		}
		c.ask.stalled, c.ask.paused = false, false
		c.send()
		if c.ask.next < len(c.ask.cmds) && !c.quit {
			c.desk.run(&c.ask)
		}
	}
	c.clear()
	c.send()
	return waited
}

// send sends the answers, if they are many.
func (c *client) send() {
	if len(c.out.b) >= flushAt && c.flush() != nil {
		c.quit = true
	}
}

// clear begins a new stretch.
func (c *client) clear() {
	clear(c.ask.cmds)
	c.ask = ask{c: c, out: &c.out, turn: c.ask.turn, cmds: c.ask.cmds[:0]}
	c.bytes = 0
}

func (c *client) onlyReads() bool {
	for _, q := range c.ask.cmds {
		if q.spec.writes {
			return false
		}
	}
	return true
}

// read does commands that only read: they need not wait for their turn.
func (c *client) read() {
	if c.sheet == nil {
		c.sheet = newSheet(c.door.ctx, c.door.cfg.Board, c.space)
	}
	for _, q := range c.ask.cmds {
		c.sheet.reset(c.door.ctx)
		from := len(c.out.b)
		x := &call{d: c.desk, c: c, s: c.sheet, a: &c.out, args: q.args}
		if err := c.desk.safely(x, q.spec); err != nil {
			c.out.b = c.out.b[:from]
			c.fail(err)
		}
		if c.send(); c.quit {
			return
		}
	}
}

// fail answers with an error.
func (c *client) fail(err error) { c.door.desk(c.space).fail(&c.out, err) }

// flush sends what there is to answer.
func (c *client) flush() error {
	if len(c.out.b) == 0 {
		return nil
	}
	err := c.write(c.out.b)
	if cap(c.out.b) > 2*flushAt {
		c.out.b = nil
	} else {
		c.out.b = c.out.b[:0]
	}
	return err
}

// write sends bytes as a whole: a subscription's come between.
func (c *client) write(b []byte) error {
	large := len(b) > 16*flushAt
	if large {
		if !c.door.memory.take(len(b)) {
			return errCrowded
		}
		defer c.door.memory.give(len(b))
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := c.conn.Write(b)
	return err
}

// tenant is the context that is selected, as far as the client may know of it.
func (c *client) tenant(now time.Time, space board.Space) (domain.Tenant, error) {
	if c.role.space == space && now.Before(c.role.until) {
		return c.role.tenant, nil
	}
	t, err := c.door.cfg.Access.CheckIn(c.door.ctx, identity.Ask{Actor: c.actor, Verb: identity.Read, Tenant: domain.TenantID(space), Object: "resp"})
	if err != nil {
		c.role = memo{}
		return domain.Tenant{}, err
	}
	c.role = memo{space, t, now.Add(memoFor)}
	return t, nil
}

// may asks for a right.
//
// Errors: [domain.ErrForbidden], counted and written down.
func (c *client) may(now time.Time, space board.Space, verb identity.Verb, object string) error {
	if space == 0 {
		_, err := c.door.cfg.Access.CheckIn(c.door.ctx, identity.Ask{Actor: c.actor, Verb: verb, Object: object})
		if errors.Is(err, domain.ErrForbidden) {
			return errDatabase
		}
		return err
	}
	if t, err := c.tenant(now, space); err == nil && identity.Permit(t, c.actor, verb, false) {
		return nil
	} else if err != nil && !errors.Is(err, domain.ErrForbidden) {
		return err
	}
	_, err := c.door.cfg.Access.CheckIn(c.door.ctx, identity.Ask{Actor: c.actor, Verb: verb, Tenant: domain.TenantID(space), Object: object})
	return err
}

// permits tells whether the client has a right, without a no being a denial.
func (c *client) permits(now time.Time, verb identity.Verb) bool {
	if c.space == 0 {
		return c.actor == domain.Operator
	}
	t, err := c.tenant(now, c.space)
	return err == nil && identity.Permit(t, c.actor, verb, false)
}

// lists reports whether a key may be named to the client.
func (c *client) lists(now time.Time, key string) bool {
	return c.permits(now, rowOf(c.space, key).right(reads, key, c.actor).verb)
}
