package resp

import (
	"cmp"
	"context"
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
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/keyspace"
)

// client is one connection. One goroutine reads and answers; a second one
// sends what comes without being asked for, once the client has subscribed.
type client struct {
	door  *Door
	id    int64
	conn  net.Conn
	seat  *budget.Seat
	since time.Time
	r     *reader

	// who is what it has proven; nobody until it has. session ends when that is
	// so no more; nil where the cookie proved it.
	who     identity.Proof
	session *identity.Session
	unlook  func() bool // stops that its end is looked at
	lapsed  error       // why what it had proven is good no more
	tries   int         // wrong tokens

	space board.Space
	desk  *desk // of that space; nil in none yet
	name  string

	// partial is when the command began to arrive that is not there wholly.
	partial time.Time

	out   answer
	held  budget.Hold // the bytes of out, from smallBuffer on, until they are sent
	ask   ask         // the commands of the stretch that is gathered
	size  int         // of their arguments
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
	looks   bool // a session has ended
}

// memo is a client's role in a space, for as long as asking anew would give the
// same answer from memory.
type memo struct {
	space  board.Space
	tenant domain.Tenant
	until  time.Time
}

const memoFor = 10 * time.Millisecond

func newClient(d *Door, conn net.Conn, seat *budget.Seat) *client {
	c := &client{door: d, id: d.lastID.Add(1), conn: conn, seat: seat, since: time.Now()}
	c.r, c.held = newReader(conn, c.bytes()), c.bytes()
	c.ask = ask{c: c, out: &c.out, turn: make(chan bool, 1)}
	return c
}

// bytes is a hold on what large commands and answers take, in the client's name.
func (c *client) bytes() budget.Hold {
	return budget.Hold{Pool: c.seat.Share().Bytes, Who: c.who.Actor}
}

// become takes a proof of who the client is.
//
// Errors: those of [budget.Seat.SignIn]; the connection ends then.
func (c *client) become(who identity.Proof) error {
	c.seat.SignOut()
	if err := c.seat.SignIn(who.Actor); err != nil {
		c.quit = true
		return err
	}
	c.forget()
	c.who, c.r.trusted, c.r.hold.Who = who, true, who.Actor
	if who.Token != "" {
		var ctx context.Context
		ctx, c.session = c.door.cfg.Tokens.Open(c.door.ctx, who)
		c.unlook = context.AfterFunc(ctx, c.look)
	}
	c.enter(c.space)
	return nil
}

// forget takes back who the client is, and what hangs on it.
func (c *client) forget() {
	c.endSession()
	c.who, c.session, c.role, c.lapsed, c.r.trusted = identity.Proof{}, nil, memo{}, nil, false
	c.r.hold.Who = 0
}

// endSession closes the client's session.
func (c *client) endSession() {
	if c.session != nil {
		c.unlook()
		c.session.Close()
	}
}

// look has a client that only reads look whether it may go on: its session has
// ended, or that of what it subscribed to.
func (c *client) look() {
	c.arming.Lock()
	defer c.arming.Unlock()
	c.looks = true
	_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // a connection that is gone needs no waking
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
			if text, ours := textOf(err); ours {
				c.out.fail(text)
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
	if c.who.Actor == 0 {
		if by := c.since.Add(authTime); deadline.IsZero() || by.Before(deadline) {
			deadline = by
		}
	}
	err := c.arm(deadline)
	if err == nil {
		err = c.r.fill()
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || !c.looked() {
		return err
	}
	switch err := c.proven(); {
	case err == nil:
	case c.sub.active(): // it gets something without asking: it is told, too
		c.fail(err)
		c.quit = true
	default:
		c.lapse(err)
	}
	return nil
}

// lapse makes a client a stranger whose proof is good no more. It may prove itself
// again as strangers may, and is let go if it does not.
func (c *client) lapse(why error) {
	c.endMulti()
	c.forget()
	c.lapsed, c.since = why, time.Now()
	c.seat.SignOut()
}

// looked reports whether the client is to look at its sessions, which it does now.
func (c *client) looked() (looks bool) {
	c.arming.Lock()
	defer c.arming.Unlock()
	looks, c.looks = c.looks, false
	return looks
}

// arm sets the deadline of reading, unless the door closes.
func (c *client) arm(deadline time.Time) error {
	c.arming.Lock()
	defer c.arming.Unlock()
	if c.waking || c.looks {
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
	c.endSession()
	if c.sub != nil {
		c.door.hub.leave(c.sub)
	}
	c.conn.Close()
	c.r.close()
}

// take does a command, or adds it to the stretch.
func (c *client) take(args []string) {
	c.door.commands.Add(1)
	c.partial = time.Time{}
	spec := find(args[0])
	c.door.counts[spec].Add(1)
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
	c.size += sizeOf(args)
	if len(c.ask.cmds) >= stretchCommands || c.size >= stretchBytes {
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
	case c.who.Actor == 0 && (spec == nil || !spec.open):
		return cmp.Or(c.lapsed, error(errNoAuth))
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

// proven reports whether what the client has proven still is so: its token may
// have run out or been revoked, its actor may have another key, or have lost the
// right to what it subscribed to.
func (c *client) proven() error {
	err := c.session.Err()
	if err == nil && c.sub != nil {
		err = c.sub.session.Err()
	}
	return asNoAuth(err)
}

// asNoAuth gives the refusal of a proof the word that clients know.
func asNoAuth(err error) error {
	if errors.Is(err, domain.ErrUnauthenticated) {
		return failure("NOAUTH " + err.Error() + "; send AUTH again")
	}
	return err
}

// run does the stretch that was gathered. waited says that a command of it had
// to wait.
func (c *client) run() (waited bool) {
	if len(c.ask.cmds) == 0 {
		return false
	}
	c.last = c.ask.cmds[len(c.ask.cmds)-1].spec.name
	if told := c.door.cfg.Answered; told != nil {
		began := time.Now()
		defer func() { told(time.Since(began), waited) }()
	}
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
	c.size = 0
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
		if err := c.desk.read(x, q.spec); err != nil {
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

// hold has the bytes of what there is to answer counted.
//
// Errors: those of [budget.Pool.Take].
func (c *client) hold() error {
	c.held.Who = c.who.Actor
	return c.held.Resize(counted(len(c.out.b)))
}

// counted is what of n bytes is counted: what each client has anyway is not.
func counted(n int) int64 {
	if n <= smallBuffer {
		return 0
	}
	return int64(n)
}

// flush sends what there is to answer. Where there is no room for that the client
// is told, and goes: nobody could tell which answers are missing.
func (c *client) flush() error {
	if len(c.out.b) == 0 {
		return nil
	}
	full := c.hold()
	if full != nil {
		c.out.b = nil
		c.fail(full)
	}
	err := cmp.Or(c.write(c.out.b), full)
	c.held.End()
	if cap(c.out.b) > 2*flushAt {
		c.out.b = nil
	} else {
		c.out.b = c.out.b[:0]
	}
	return err
}

// write sends bytes as a whole: a subscription's come between.
func (c *client) write(b []byte) error {
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
	t, err := c.door.cfg.Access.CheckIn(c.door.ctx, c.asks(domain.VerbRead, space, "resp", identity.AnyGroup))
	if err != nil {
		c.role = memo{}
		return domain.Tenant{}, err
	}
	c.role = memo{space, t, now.Add(memoFor)}
	return t, nil
}

// asks is a question about the client.
func (c *client) asks(verb domain.Verb, space board.Space, object, group string) identity.Ask {
	return identity.Ask{Actor: c.who.Actor, Verb: verb, Tenant: domain.TenantID(space), Object: object, Scope: c.who.Scope, Group: group}
}

// may asks for a right on what is of a group.
//
// Errors: [domain.ErrForbidden], counted and written down.
func (c *client) may(now time.Time, space board.Space, verb domain.Verb, object, group string) error {
	ask := c.asks(verb, space, object, group)
	if space == 0 {
		_, err := c.door.cfg.Access.CheckIn(c.door.ctx, ask)
		if errors.Is(err, domain.ErrForbidden) {
			return errDatabase
		}
		return err
	}
	if t, err := c.tenant(now, space); err == nil && c.who.Permits(t, verb, false, group) {
		return nil
	} else if err != nil && !errors.Is(err, domain.ErrForbidden) {
		return err
	}
	_, err := c.door.cfg.Access.CheckIn(c.door.ctx, ask)
	return err
}

// permits tells whether the client has a right, without a no being a denial.
func (c *client) permits(now time.Time, verb domain.Verb, group string) bool {
	if c.space == 0 {
		return c.who.Operates(domain.VerbInspect, group)
	}
	t, err := c.tenant(now, c.space)
	return err == nil && c.who.Permits(t, verb, false, group)
}

// lists reports whether a key may be named to the client.
func (c *client) lists(now time.Time, key string) bool {
	kind := keyspace.Of(c.space, key)
	return c.permits(now, kind.Right(keyspace.Read, key, c.who.Actor).Verb, kind.Group)
}
