package redisboard

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// grace is how long a claim under way may still answer after its context has
// ended: what it has leased would otherwise be held by nobody who knows.
const grace = 250 * time.Millisecond

// claim is an ask on its way.
type claim struct {
	ask    *board.Ask
	packed string
	groups []string
}

// Claim implements [board.Board].
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := ask.Check(); err != nil {
		return nil, err
	}
	c := claim{ask: &ask, packed: packAsk(&ask)}
	for _, q := range ask.Queues {
		c.groups = append(c.groups, q.Group())
	}
	if b.line.ask(c.groups) {
		b.touches.look()
	}
	got, err := b.claim(ctx, &c)
	if len(got) > 0 || err != nil || ask.Wait <= 0 {
		return got, err
	}
	return b.waitForClaim(ctx, &c)
}

// again is the ask once more, without what it has charged already.
func (c *claim) again() {
	if len(c.ask.Charges) > 0 {
		ask := *c.ask
		ask.Charges = nil
		c.ask, c.packed = &ask, packAsk(&ask)
	}
}

// waitForClaim tries again each time it is woken. It waits through outages.
func (b *Board) waitForClaim(ctx context.Context, c *claim) ([]board.Claimed, error) {
	c.again()
	timer := time.NewTimer(c.ask.Wait)
	defer timer.Stop()
	for {
		w := b.line.join(c.groups, c.packed, c.ask.Picky()) // before the look: nothing is missed between
		got, err := b.claim(ctx, c)
		if len(got) > 0 || err != nil && !errors.Is(err, domain.ErrUnavailable) {
			b.line.leave(w)
			return got, err
		}
		b.line.rest(w)
		var s served
		select {
		case <-w.woken:
			continue
		case s = <-w.served:
			if got, _, err := b.take(ctx, c, s); len(got) > 0 || err != nil {
				return got, err
			}
			continue
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		case <-b.closing.Done():
			err = errClosed()
		}
		if got, _, _ := b.take(ctx, c, b.line.leave(w)); len(got) > 0 {
			return got, nil // claimed for it in the last moment
		}
		return nil, err
	}
}

// claim asks the server once, or again after a run of items to be dropped.
func (b *Board) claim(ctx context.Context, c *claim) ([]board.Claimed, error) {
	for {
		s := served{sent: time.Now()}
		var err error
		if s.answer, err = b.claimOnce(ctx, c.packed); err != nil {
			return nil, err
		}
		got, more, err := b.take(ctx, c, s)
		if len(got) == 0 && more && err == nil {
			c.again()
			continue
		}
		return got, err
	}
}

// take reads an answer of the script. More: it has stopped early.
func (b *Board) take(ctx context.Context, c *claim, s served) (got []board.Claimed, more bool, err error) {
	if len(s.answer) < 2 {
		return nil, false, nil
	}
	got, more = c.read(s.answer, s.sent.Add(c.ask.Lease))
	if err := b.reread(ctx, got); err != nil {
		return nil, false, err
	}
	if len(got) == c.ask.Max || more {
		for _, name := range c.groups {
			b.line.wake(name, 1) // there may be more than this claim could take
		}
	}
	return got, more, nil
}

func (b *Board) claimOnce(ctx context.Context, packed string) ([]rueidis.RedisMessage, error) {
	calm := ctx
	if ctx.Done() != nil {
		late, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
		defer stop()
		calm = late
	}
	m, isNil, err := b.run(calm, claimScript, packed)
	if isNil || err != nil {
		return nil, err
	}
	answer, err := m.ToArray()
	return answer, b.translate(err)
}

// packAsk writes an ask as lua/claim.lua reads it.
func packAsk(ask *board.Ask) string {
	var s segment
	s.text(ask.Owner)
	s.num(int(ask.Lease.Milliseconds()), ask.Max)
	s.text(ask.Skip.Field)
	run := func(list []string) {
		s.num(len(list))
		s.texts(list)
	}
	run(ask.Skip.Values)
	marks := markFields(ask)
	s.num(2 * len(marks))
	for _, f := range marks {
		s.text(f.Name)
		s.text(f.Value)
	}
	ms, seconds := stamps(ask)
	run(ms)
	run(seconds)
	for _, spaces := range [][]board.Space{ask.Spaces, ask.Except} {
		s.num(len(spaces))
		for _, space := range spaces {
			s.num(int(space))
		}
	}
	s.num(2 * len(ask.Charges))
	for _, c := range ask.Charges {
		s.num(int(c.Space), c.Items)
	}
	s.num(int(ask.Aging.Step.Milliseconds()))
	run(ask.Aging.Fields)
	s.num(len(ask.Queues))
	for _, q := range ask.Queues {
		s.text(q.Group())
		s.text(queue.CapGroup(q.Lists[0]))
		s.text(queue.NamePrefix(q.Lists[0]))
		run(q.Lists)
		run(queue.Siblings(q.Group()))
	}
	return rueidis.BinaryString(append(packArray(nil, s.n), s.b...))
}

// stamps are the names to be set to milliseconds and to seconds.
func stamps(ask *board.Ask) (ms, seconds []string) {
	for _, name := range ask.Stamp {
		switch {
		case ours(name):
		case strings.HasSuffix(name, "_ms"):
			ms = append(ms, name)
		default:
			seconds = append(seconds, name)
		}
	}
	return ms, seconds
}

// markFields are the marks without those that the lease itself sets.
func markFields(ask *board.Ask) []board.Field {
	var out []board.Field
	for _, f := range ask.Mark {
		if !ours(f.Name) {
			out = append(out, f)
		}
	}
	return out
}

func ours(name string) bool {
	return name == board.FieldAttempt || name == board.FieldOwner || name == board.FieldQueue
}

// read reads what the script has claimed. The records come as they were
// before: what the claim has set on them is known here.
func (c *claim) read(answer []rueidis.RedisMessage, until time.Time) (got []board.Claimed, more bool) {
	num := func(i int) int64 { n, _ := answer[i].AsInt64(); return n }
	got = make([]board.Claimed, 0, len(answer))
	set := c.written(num(0))
	more = num(1) == 1
	var space board.Space
	var naming string
	for answer = answer[2:]; len(answer) > 0; {
		if answer[0].IsInt64() {
			space = board.Space(num(0))
			list := c.ask.Queues[num(1)].Lists[0]
			set[0].Value, naming = queue.CapGroup(list), queue.NamePrefix(list)
			answer = answer[2:]
		}
		rest, _ := answer[0].ToString()
		answer = answer[1:]
		rest, fields := cutLast(rest)
		rest, token := cutLast(rest)
		rest, item := cutLast(rest)
		set[1].Value = token
		got = append(got, board.Claimed{
			Space: space, Item: naming + item, Token: parseInt(token), Until: until,
			Record: joined(int(parseInt(fields)), rest, set),
		})
	}
	return got, more
}

// cutLast takes off what stands behind the last NUL.
func cutLast(s string) (rest, last string) {
	i := strings.LastIndexByte(s, 0)
	return s[:max(i, 0)], s[i+1:]
}

// written are the fields that the claim sets. The first two differ from item
// to item.
func (c *claim) written(now int64) []board.Field {
	set := []board.Field{{Name: board.FieldQueue}, {Name: board.FieldAttempt}, {Name: board.FieldOwner, Value: c.ask.Owner}}
	put := func(name, value string) {
		for i := range set {
			if set[i].Name == name {
				set[i].Value = value
				return
			}
		}
		set = append(set, board.Field{Name: name, Value: value})
	}
	for _, f := range markFields(c.ask) {
		put(f.Name, f.Value)
	}
	ms, seconds := stamps(c.ask)
	for _, name := range ms {
		put(name, formatInt(now))
	}
	for _, name := range seconds {
		put(name, formatInt(now/1000))
	}
	return set
}

// joined takes a record's n names and values apart, and lays the fields of set
// over it. Where a value has a NUL itself they cannot be told apart: then the
// record is nil.
func joined(n int, text string, set []board.Field) board.Record {
	rec := make(board.Record, 0, n/2+len(set))
	if n > 0 && strings.Count(text, "\x00") != n-1 {
		return nil
	}
next:
	for ; n > 0; n -= 2 {
		var f board.Field
		f.Name, text, _ = strings.Cut(text, "\x00")
		f.Value, text, _ = strings.Cut(text, "\x00")
		for i := range set {
			if set[i].Name == f.Name {
				continue next
			}
		}
		rec = append(rec, f)
	}
	return append(rec, set...)
}

// reread reads records that joined could not take apart.
func (b *Board) reread(ctx context.Context, got []board.Claimed) error {
	for i := range got {
		if got[i].Record != nil {
			continue
		}
		recs, err := b.Get(context.WithoutCancel(ctx), got[i].Space, got[i].Item)
		if err != nil {
			return err
		}
		got[i].Record = recs[0]
	}
	return nil
}
