package resp

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/keyspace"
)

// This file has the channels: messages from client to client of this node and
// context, for wake-ups. What is to be kept goes into a list.

var channelCommands = []command{
	{name: "publish", arity: 3, writes: true, run: publish},
	{name: "subscribe", arity: -2, inSub: true, conn: func(c *client, args []string) error { return subscribe(c, args, false) }},
	{name: "psubscribe", arity: -2, inSub: true, conn: func(c *client, args []string) error { return subscribe(c, args, true) }},
	{name: "unsubscribe", arity: -1, inSub: true, conn: func(c *client, args []string) error { return unsubscribe(c, args, false) }},
	{name: "punsubscribe", arity: -1, inSub: true, conn: func(c *client, args []string) error { return unsubscribe(c, args, true) }},
	{name: "pubsub", arity: -2, conn: pubsub},
}

// keyChannel begins the channels on which the changes of a key are told:
// __keyspace@7__:job:12:2001. What is told is always the same word.
const (
	keyChannel = "__keyspace@"
	changedSay = "changed"
)

// channel is a channel of a context.
type channel struct {
	space board.Space
	name  string
}

// hub knows who has subscribed to what.
type hub struct {
	door *Door
	// watched is how many have subscribed to changes of keys.
	watched atomic.Int64

	mu    sync.Mutex // for a moment; never while something is told
	rooms map[board.Space]*room
}

// room has the subscriptions of one context. Each has a lock of its own: to look
// through thousands of patterns takes a while, and is the context's own time.
type room struct {
	mu       sync.Mutex
	exact    map[string]listeners
	patterns map[string]*listening
}

// listening are those who listen on a pattern.
type listening struct {
	pattern pattern
	who     listeners
}

type listeners map[*subscriber]struct{}

func newHub(d *Door) *hub { return &hub{door: d, rooms: map[board.Space]*room{}} }

// room is that of a space.
func (h *hub) room(space board.Space) *room {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[space]
	if r == nil {
		r = &room{exact: map[string]listeners{}, patterns: map[string]*listening{}}
		h.rooms[space] = r
	}
	return r
}

// subscriber is a client that has subscribed. A goroutine of its own sends what
// there is for it.
type subscriber struct {
	c     *client
	who   identity.Proof
	space board.Space
	// session ends when the right to hear anything of the space is lost.
	session *identity.Session
	unlook  func() bool // stops that its end is looked at

	// Of the client's goroutine:
	exact, patterns map[string]struct{}
	held            int // of them, those that need the desk's watch
	names           budget.Hold

	mu      sync.Mutex
	three   bool
	queue   []byte
	sending int           // bytes that the client is being sent
	counted budget.Hold   // of both
	signal  chan struct{} // capacity 1: there is something
	ended   chan struct{}
}

// maxBehind bounds in bytes what waits to be sent to one subscriber. One that
// does not keep up is cut off, as Redis does.
const maxBehind = 4 << 20

// active reports whether the client has any subscription.
func (s *subscriber) active() bool { return s != nil && len(s.exact)+len(s.patterns) > 0 }

// offer queues a message.
func (s *subscriber) offer(kind string, parts ...string) {
	s.mu.Lock()
	a := answer{b: s.queue, three: s.three}
	a.push(1 + len(parts))
	a.bulk(kind)
	for _, p := range parts {
		a.bulk(p)
	}
	s.queue = a.b
	behind := len(s.queue)+s.sending > maxBehind || !s.hold()
	if behind {
		s.queue = nil
		s.hold()
	}
	s.mu.Unlock()
	if behind {
		s.c.conn.Close()
		return
	}
	select {
	case s.signal <- struct{}{}:
	default: // it is awake already
	}
}

// hold has what waits and what is being sent counted, if there is room for it.
func (s *subscriber) hold() bool { return s.counted.Resize(counted(len(s.queue)+s.sending)) == nil }

// send sends what is queued until the client goes.
func (s *subscriber) send() {
	for {
		select {
		case <-s.signal:
		case <-s.ended:
			return
		}
		s.mu.Lock()
		b := s.queue
		s.queue, s.sending = nil, len(b)
		s.mu.Unlock()
		err := s.c.write(b)
		s.mu.Lock()
		s.sending = 0
		s.hold()
		s.mu.Unlock()
		if err != nil {
			s.c.conn.Close()
			return
		}
	}
}

// deliver tells everybody who listens on a channel, and returns how many. only
// says who may hear it.
func (h *hub) deliver(ch channel, message string, only func(*subscriber) bool) (n int) {
	r := h.room(ch.space)
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.exact[ch.name] {
		if only(s) {
			s.offer("message", ch.name, message)
			n++
		}
	}
	for pattern, l := range r.patterns {
		if fits, _ := l.pattern.fits(ch.name, maxSteps); !fits {
			continue
		}
		for s := range l.who {
			if only(s) {
				s.offer("pmessage", pattern, ch.name, message)
				n++
			}
		}
	}
	return n
}

// changed tells those who want to know that a key has.
func (h *hub) changed(space board.Space, key string) {
	if h.watched.Load() == 0 || key == "" {
		return
	}
	name := keyChannel + strconv.FormatUint(uint64(space), 10) + "__:" + key
	kind := keyspace.Of(space, key)
	h.deliver(channel{space, name}, changedSay, func(s *subscriber) bool {
		return h.hears(s, kind.Right(keyspace.Read, key, s.who.Actor).Verb, kind.Group)
	})
}

// hears reports whether a subscriber still has a right in its context, on what is
// of a group.
func (h *hub) hears(s *subscriber, verb domain.Verb, group string) bool {
	if s.session.Err() != nil {
		return false
	}
	if s.space == 0 {
		return s.who.Operates(domain.VerbInspect, group)
	}
	t, err := h.door.cfg.Access.CheckIn(h.door.ctx, s.ask())
	return err == nil && s.who.Permits(t, verb, false, group)
}

// ask is the question whether a subscriber may hear channels of its space.
func (s *subscriber) ask() identity.Ask {
	return identity.Ask{Actor: s.who.Actor, Verb: keyspace.Knowing(s.space), Tenant: domain.TenantID(s.space), Object: "channel", Scope: s.who.Scope,
		Group: api.GroupChannel}
}

// add lets a subscriber hear a channel or pattern.
func (h *hub) add(s *subscriber, name string, pattern bool) {
	r := h.room(s.space)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !pattern {
		if r.exact[name] == nil {
			r.exact[name] = listeners{}
		}
		r.exact[name][s] = struct{}{}
		return
	}
	if r.patterns[name] == nil {
		r.patterns[name] = &listening{readPattern(name), listeners{}}
	}
	r.patterns[name].who[s] = struct{}{}
}

// remove takes that back.
func (h *hub) remove(s *subscriber, name string, pattern bool) {
	r := h.room(s.space)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !pattern {
		if delete(r.exact[name], s); len(r.exact[name]) == 0 {
			delete(r.exact, name)
		}
		return
	}
	if l := r.patterns[name]; l != nil {
		if delete(l.who, s); len(l.who) == 0 {
			delete(r.patterns, name)
		}
	}
}

// begin notes for whom a subscriber listens, and where; it is looked after as
// long as the client has said nothing else.
func (s *subscriber) begin(c *client) {
	if s.session != nil && s.space == c.space && s.who == c.who {
		return
	}
	s.end()
	r := c.door.hub.room(s.space) // where it may be hearing something now; with another space it has no subscriptions
	r.mu.Lock()
	defer r.mu.Unlock()
	s.space, s.who = c.space, c.who
	var ctx context.Context
	ctx, s.session = c.door.cfg.Tokens.Open(c.door.ctx, c.who)
	s.unlook = context.AfterFunc(ctx, c.look)
	s.session.Hang(s.ask())
}

// end closes the session.
func (s *subscriber) end() {
	if s.session != nil {
		s.unlook()
		s.session.Close()
	}
}

// leave ends a subscriber.
func (h *hub) leave(s *subscriber) {
	s.end()
	for name := range s.exact {
		s.drop(name, false)
	}
	for name := range s.patterns {
		s.drop(name, true)
	}
	s.mu.Lock()
	s.queue = nil
	s.hold()
	s.mu.Unlock()
	close(s.ended)
}

// list are the channels of a space that somebody listens on.
func (h *hub) list(space board.Space, match *match) ([]string, error) {
	r := h.room(space)
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []string{}
	for name := range r.exact {
		fits, err := match.of(name)
		if err != nil {
			return nil, err
		}
		if fits {
			out = append(out, name)
		}
	}
	return out, nil
}

func publish(x *call) error {
	if strings.HasPrefix(x.args[1], keyChannel) {
		return failure("NOPERM channels that begin with " + keyChannel + " are told by the node alone")
	}
	if err := x.c.may(x.s.now, x.s.space(), domain.VerbWrite, "channel", api.GroupChannel); err != nil {
		return err
	}
	if err := checkChannel(x.args[1]); err != nil {
		return err
	}
	// Told when the commit that it belongs to is done; who listens now is
	// counted now.
	ch := channel{x.s.space(), x.args[1]}
	x.s.messages = append(x.s.messages, channelMessage{ch, x.args[2]})
	x.a.number(x.c.door.hub.count(ch))
	return nil
}

// checkChannel bounds the name of a channel, or a pattern of them.
func checkChannel(name string) error {
	if len(name) > maxName {
		return failure("ERR a channel's name has " + strconv.Itoa(len(name)) + " bytes, the limit is " + strconv.Itoa(maxName))
	}
	return nil
}

// channelMessage is a message to be told.
type channelMessage struct {
	to   channel
	text string
}

// count is how many listen on a channel.
func (h *hub) count(ch channel) int {
	r := h.room(ch.space)
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.exact[ch.name])
	for _, l := range r.patterns {
		if fits, _ := l.pattern.fits(ch.name, maxSteps); fits {
			n += len(l.who)
		}
	}
	return n
}

// tell delivers what was published.
func (h *hub) tell(messages []channelMessage) {
	for _, l := range messages {
		h.deliver(l.to, l.text, func(s *subscriber) bool { return h.hears(s, keyspace.Knowing(s.space), api.GroupChannel) })
	}
}

// of are the names that a subscriber has, of one of the two kinds.
func (s *subscriber) of(pattern bool) map[string]struct{} {
	if pattern {
		return s.patterns
	}
	return s.exact
}

// aboutKeys reports whether a channel or pattern is about changes of keys.
func aboutKeys(name string) bool { return strings.HasPrefix(name, "__key") }

func subscribe(c *client, args []string, pattern bool) error {
	if err := c.mayHear(); err != nil {
		return err
	}
	if c.sub != nil && c.sub.space != c.space && c.sub.active() {
		return failure("ERR subscriptions are of one database; unsubscribe first, or use another connection")
	}
	if c.sub == nil {
		c.sub = &subscriber{c: c, exact: map[string]struct{}{}, patterns: map[string]struct{}{}, signal: make(chan struct{}, 1), ended: make(chan struct{}),
			counted: c.bytes(), names: budget.Hold{Pool: c.seat.Share().Subscriptions, Who: c.who.Actor}}
		c.door.wg.Go(c.sub.send)
	}
	s := c.sub
	s.begin(c)
	s.mu.Lock()
	s.three = c.out.three
	s.mu.Unlock()
	if c.flush() != nil {
		c.quit = true
		return nil
	}
	// Held until it is confirmed: no message comes before that.
	c.writing.Lock()
	err := s.join(args[1:], pattern)
	c.writing.Unlock()
	return err
}

// join adds subscriptions and confirms them.
func (s *subscriber) join(names []string, pattern bool) error {
	word := "subscribe"
	if pattern {
		word = "psubscribe"
	}
	c := s.c
	for _, name := range names {
		if err := checkChannel(name); err != nil {
			return err
		}
		if _, twice := s.of(pattern)[name]; !twice {
			if len(s.exact)+len(s.patterns) >= maxChannels {
				return failure("ERR more subscriptions than one client may have")
			}
			if err := s.names.Resize(int64(len(s.exact) + len(s.patterns) + 1)); err != nil {
				return err
			}
			if aboutKeys(name) {
				if err := c.desk.hold(); err != nil {
					return err
				}
				s.held++
				c.door.hub.watched.Add(1)
			}
			s.of(pattern)[name] = struct{}{}
			c.door.hub.add(s, name, pattern)
		}
		c.out.push(3)
		c.out.bulk(word)
		c.out.bulk(name)
		c.out.number(len(s.exact) + len(s.patterns))
	}
	_, err := c.conn.Write(c.out.b)
	c.out.b = c.out.b[:0]
	if err != nil {
		c.quit = true
	}
	return nil
}

// drop ends one subscription.
func (s *subscriber) drop(name string, pattern bool) {
	s.c.door.hub.remove(s, name, pattern)
	delete(s.of(pattern), name)
	_ = s.names.Resize(int64(len(s.exact) + len(s.patterns))) // less is never refused
	if aboutKeys(name) {
		s.held--
		s.c.door.hub.watched.Add(-1)
		s.c.door.desk(s.space).release()
	}
}

func unsubscribe(c *client, args []string, pattern bool) error {
	word := "unsubscribe"
	if pattern {
		word = "punsubscribe"
	}
	names := args[1:]
	if len(names) == 0 && c.sub != nil {
		for name := range c.sub.of(pattern) {
			names = append(names, name)
		}
	}
	confirm := func(name string, there bool) {
		left := 0
		if c.sub != nil {
			left = len(c.sub.exact) + len(c.sub.patterns)
		}
		c.out.push(3)
		c.out.bulk(word)
		c.out.bulkOr(name, there)
		c.out.number(left)
	}
	if len(names) == 0 {
		confirm("", false)
	}
	for _, name := range names {
		if c.sub != nil {
			if _, there := c.sub.of(pattern)[name]; there {
				c.sub.drop(name, pattern)
			}
		}
		confirm(name, true)
	}
	return nil
}

// mayHear asks for the right to listen on channels of the space.
func (c *client) mayHear() error {
	return c.may(time.Now(), c.space, keyspace.Knowing(c.space), "channel", api.GroupChannel)
}

func pubsub(c *client, args []string) error {
	if err := c.mayHear(); err != nil {
		return err
	}
	switch strings.ToUpper(args[1]) {
	case "CHANNELS":
		pattern := "*"
		if len(args) > 2 {
			pattern = args[2]
		}
		match, err := c.door.match(pattern)
		if err != nil {
			return err
		}
		names, err := c.door.hub.list(c.space, match)
		if err != nil {
			return err
		}
		c.out.bulks(names)
	case "NUMSUB":
		r := c.door.hub.room(c.space)
		c.out.array(2 * len(args[2:]))
		for _, name := range args[2:] {
			c.out.bulk(name)
			r.mu.Lock()
			n := len(r.exact[name])
			r.mu.Unlock()
			c.out.number(n)
		}
	case "NUMPAT":
		r := c.door.hub.room(c.space)
		r.mu.Lock()
		n := len(r.patterns)
		r.mu.Unlock()
		c.out.number(n)
	default:
		return errSubcommand(args[1], "PUBSUB")
	}
	return nil
}
