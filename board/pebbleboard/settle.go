package pebbleboard

import (
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

// This file does what follows from a batch that is applied: it counts leases,
// keeps the ready index, takes up new limits, notes what watchers are told,
// and serves those who wait.

func (c *committer) beginBatch(s board.Space) {
	c.batchNo++
	c.space = s
	c.goneMark = len(c.gone)
}

// settle follows up a batch, and serves those who wait for what it brought.
func (c *committer) settle() {
	c.follow()
	for len(c.readied) > 0 {
		g := c.readied[0]
		c.readied = slices.Delete(c.readied, 0, 1)
		c.serveGroup(g)
		c.follow()
	}
}

// follow does what follows from every object that has changed since the
// batch began. Then another one may begin.
func (c *committer) follow() {
	c.batchNo++
	if len(c.saves) == 0 && len(c.alarmSaves) == 0 {
		return
	}
	freed := c.freedIn[:0]
	for i := range c.saves {
		o, was := c.saves[i].o, &c.saves[i].state
		if was.lease != o.lease {
			if was.lease != nil && was.lease.group != "" {
				freed = append(freed, o.id.space)
			}
			c.swapLease(was.lease, o.lease)
		}
		if o.changed {
			o.changed = false
			freed = c.changed(o, freed)
		}
	}
	c.forget()
	for i, id := range freed {
		if !slices.Contains(freed[:i], id) {
			c.unpark(c.spaceOf(id))
		}
	}
	c.freedIn = freed
}

func (c *committer) swapLease(was, is *lease) {
	if was != nil {
		c.dropLease(was)
	}
	if is != nil {
		c.hold(is)
	}
}

// changed does what follows from a change of what is under a key.
func (c *committer) changed(o *object, freed []board.Space) []board.Space {
	c.tell(o.id)
	if queue.Is(o.id.name) {
		if g, filled := c.account(o.id.space, o.id.name, o.kind == kindList); filled {
			c.ready(g)
		}
	}
	if o.id.name != board.LimitsKey {
		return freed
	}
	if s := c.spaces[o.id.space]; s != nil {
		c.loadLimits(s)
		freed = append(freed, s.ID)
	}
	return freed
}

// serveGroup gives what there is to those who wait for it.
func (c *committer) serveGroup(g *group) {
	for i := 0; i < len(g.waiters) && g.Any(); {
		w := g.waiters[i]
		got, err := c.claim(&w.ask)
		if len(got) == 0 && err == nil {
			i++
			continue
		}
		w.leave() // a waiter may stand in this line twice: i is then too far at most
		w.got, w.err = got, err
		c.answerClaim(w)
	}
}
