package resp

import (
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/peer"
)

var connectionCommands = []command{
	{name: "ping", arity: -1, inSub: true, run: ping},
	{name: "echo", arity: 2, run: func(x *call) error { x.a.bulk(x.args[1]); return nil }},
	{name: "hello", arity: -1, open: true, conn: hello},
	{name: "auth", arity: -2, open: true, conn: auth},
	{name: "select", arity: 2, conn: selectSpace},
	{name: "quit", arity: -1, open: true, inSub: true, atOnce: true, conn: quit},
	{name: "reset", arity: 1, open: true, inSub: true, atOnce: true, conn: reset},
}

func ping(x *call) error {
	if len(x.args) > 2 {
		return errArity("ping")
	}
	text := ""
	if len(x.args) == 2 {
		text = x.args[1]
	}
	switch {
	case x.c.sub.active() && !x.a.three:
		x.a.bulks([]string{"pong", text})
	case len(x.args) == 2:
		x.a.bulk(text)
	default:
		x.a.status("PONG")
	}
	return nil
}

func quit(c *client, _ []string) error {
	c.out.ok()
	c.quit = true
	return nil
}

// reset makes the connection as it was at first; it has to say again who it is.
func reset(c *client, _ []string) error {
	c.endMulti()
	if c.sub != nil {
		c.door.hub.leave(c.sub)
		c.sub = nil
	}
	c.out.three, c.name = false, ""
	if c.who.Actor != 0 {
		c.forget()
		c.since = time.Now()
		c.seat.SignOut()
		c.enter(0)
	}
	c.out.status("RESET")
	return nil
}

// hello chooses the protocol, and may say who the client is and what it is
// called.
func hello(c *client, args []string) error {
	three := c.out.three
	rest := args[1:]
	if len(rest) > 0 {
		switch rest[0] {
		case "2":
			three = false
		case "3":
			three = true
		default:
			return failure("NOPROTO unsupported protocol version")
		}
		rest = rest[1:]
	}
	name, named := "", false
	var user, token string
	proves := false
	for len(rest) > 0 {
		switch {
		case is(rest[0], "auth") && len(rest) >= 3:
			user, token, proves, rest = rest[1], rest[2], true, rest[3:]
		case is(rest[0], "setname") && len(rest) >= 2:
			name, named, rest = rest[1], true, rest[2:]
		default:
			return failure("ERR Syntax error in HELLO option '" + clip(rest[0], 64) + "'")
		}
	}
	if proves {
		if err := c.prove(user, token); err != nil {
			return err
		}
	}
	if c.who.Actor == 0 {
		return failure("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be " +
			"used to authenticate the client and select the RESP protocol version at the same time")
	}
	if named {
		if err := checkName(name); err != nil {
			return err
		}
		c.name = name
	}
	c.out.three = three
	if c.sub != nil {
		c.sub.mu.Lock()
		c.sub.three = three
		c.sub.mu.Unlock()
	}
	proto := 2
	if three {
		proto = 3
	}
	a := &c.out
	a.pairs(7)
	a.bulk("server")
	a.bulk("redis")
	a.bulk("version")
	a.bulk(redisVersion)
	a.bulk("proto")
	a.number(proto)
	a.bulk("id")
	a.number64(c.id)
	a.bulk("mode")
	a.bulk("standalone")
	a.bulk("role")
	a.bulk("master")
	a.bulk("modules")
	a.array(0)
	return nil
}

// auth is AUTH <token>, or AUTH <actor> <token>; an actor "default" is whoever
// the token names. At a local socket AUTH operator <cookie> is a proof as well.
func auth(c *client, args []string) error {
	user, token := "default", args[1]
	switch len(args) {
	case 2:
	case 3:
		user, token = args[1], args[2]
	default:
		return errSyntax
	}
	if err := c.prove(user, token); err != nil {
		return err
	}
	c.out.ok()
	return nil
}

// prove finds out who a token or cookie names, and whether that is who was said.
func (c *client) prove(user, proof string) error {
	if err := c.seat.MayTry(); err != nil {
		c.quit = true
		return err
	}
	who, err := identity.Proof{Actor: domain.Operator}, error(nil)
	if local, ok := c.conn.(*net.UnixConn); ok && user == cookie.User {
		if err = peer.Of(local).Check(); err == nil {
			err = c.door.cfg.Cookie.Verify(proof)
		}
	} else {
		who, err = c.door.cfg.Tokens.Verify(c.door.ctx, proof)
		// redis-cli sends an empty name where a URL has only a password.
		if err == nil && user != "" && user != "default" && user != strconv.FormatUint(uint64(who.Actor), 10) {
			err = errUser
		}
	}
	if errors.Is(err, domain.ErrForbidden) {
		c.door.cfg.Audit.Record(domain.AuditEntry{Verb: "authenticate", Object: "resp", Outcome: domain.AuditRefused,
			Detail: "from " + c.from() + ": " + err.Error()})
		c.seat.Refused()
		if c.tries++; c.tries >= strangerTries {
			c.quit = true
		}
	}
	if err != nil {
		return err
	}
	c.tries = 0
	return c.become(who)
}

// from says where the client is, for people.
func (c *client) from() string {
	if host, _, err := net.SplitHostPort(c.conn.RemoteAddr().String()); err == nil {
		return host
	}
	return "the local socket"
}

// errUser is for a token that is another actor's than was said.
var errUser error = &userError{}

type userError struct{}

func (*userError) Error() string {
	return "the token is not that of the actor who was named: AUTH <actor> <token>, or AUTH <token>"
}
func (*userError) Unwrap() error { return domain.ErrUnauthenticated }

func selectSpace(c *client, args []string) error {
	n, err := integer(args[1])
	if err != nil || n < 0 || n > math.MaxUint32 {
		return errInteger
	}
	if c.sub.active() && board.Space(n) != c.space {
		return failure("ERR subscriptions are of one database; unsubscribe first, or use another connection")
	}
	if n != 0 {
		if err := c.may(time.Now(), board.Space(n), domain.VerbRead, "database", identity.AnyGroup); err != nil {
			return err
		}
	}
	c.enter(board.Space(n))
	c.out.ok()
	return nil
}

// checkName holds a client's name to what Redis allows.
func checkName(name string) error {
	if len(name) > maxName {
		return failure("ERR Client names have up to " + strconv.Itoa(maxName) + " bytes")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }) {
		return failure("ERR Client names cannot contain spaces, newlines or special characters.")
	}
	return nil
}
