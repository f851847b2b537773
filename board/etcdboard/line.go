package etcdboard

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/domain"
)

// This file has the line in which nodes stand that want the same thing, or more
// than a plain transaction takes. A place is a key; whose was written first has
// the board to itself for one transaction, in which it takes its key away, or
// writes it anew when others stand behind it. Plain transactions want the line to
// be empty. Nobody counts on a node to leave: who is first for longer than
// Config.Answer, by the clock of one who stands behind it, is shown out; what it
// would still do fails, because its key is gone.

// lineName begins the keys of the places.
const lineName = "line/"

func (b *Board) placeKey() string { return b.prefix + lineName + b.name }

// line is who stands in line as the mirror has it. The zero line is empty.
type line struct {
	places map[string]int64 // by the name of the board: the revision that wrote it
	first  int64            // the lowest; 0: nobody is there
	since  time.Time        // when it was seen to be the first
}

// put takes up one place, 0 for one that was left.
func (l *line) put(name string, mod int64) {
	if mod == 0 {
		delete(l.places, name)
	} else {
		if l.places == nil {
			l.places = map[string]int64{}
		}
		l.places[name] = mod
	}
	first := int64(0)
	for _, mod := range l.places {
		if first == 0 || mod < first {
			first = mod
		}
	}
	if first != l.first {
		l.first, l.since = first, time.Now()
	}
}

// emptyLine compares that nobody stands in line.
func (b *Board) emptyLine() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(b.prefix+lineName), "=", 0).WithPrefix()
}

// runAlone makes a transaction when it is this node's turn: of what is wanted
// by then, judged by what nobody can change meanwhile.
func (b *Board) runAlone() {
	what, place, err := b.standInLine()
	if what == won {
		what, err = b.awaitTurn(place)
	}
	t, rs, _ := b.gather(true)
	if what != won {
		b.conclude(t, rs, what, 0, err)
		return
	}
	if len(rs) == 0 && len(t.kept.writes) == 0 {
		b.leaveLine(place)
		return
	}
	ops, err := nest(b.ops(t))
	if err != nil {
		b.leaveLine(place)
		b.conclude(t, rs, refused, 0, err)
		return
	}
	next, stays := b.nextPlace()
	what, rev, err := b.transact([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(b.placeKey()), "=", place)}, append(ops, next))
	switch {
	case what == won && stays:
		b.place = rev
	case what == refused:
		b.leaveLine(place)
	}
	b.conclude(t, rs, what, rev, err)
}

// standInLine returns the place that the last turn has left to the board, or
// that it takes now.
func (b *Board) standInLine() (what outcome, place int64, err error) {
	if place = b.place; place != 0 {
		b.place = 0
		return won, place, nil
	}
	return b.transact(nil, []clientv3.Op{clientv3.OpPut(b.placeKey(), "")})
}

// nextPlace is what becomes of the place of a node that has its turn. Where
// others stand behind it, it goes to the end of the line at once, with the same
// transaction: by its next turn there will be more to do, or else it leaves then.
func (b *Board) nextPlace() (op clientv3.Op, stays bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stays = len(b.mirror.line.places) > 1 && !b.closed; stays {
		return clientv3.OpPut(b.placeKey(), ""), true
	}
	return clientv3.OpDelete(b.placeKey()), false
}

// awaitTurn waits until this node is the first in line. It has lost when its
// place is gone; when the line has not moved for too long, it gives its place up.
// Each node that died in line takes Config.Answer to be shown out.
func (b *Board) awaitTurn(place int64) (outcome, error) {
	for moved := time.Now(); ; {
		b.mu.Lock()
		seen, mine := b.mirror.rev >= place, b.mirror.line.places[b.name]
		first, since := b.mirror.line.first, b.mirror.line.since
		turn := b.turn.wait()
		b.mu.Unlock()
		switch {
		case seen && mine != place:
			return lost, nil
		case first == place:
			return won, nil
		}
		left := b.answer // of the one before
		if first != 0 {
			left -= time.Since(since)
			if since.After(moved) {
				moved = since
			}
		}
		late, cancel := context.WithDeadline(context.Background(), moved.Add(2*b.answer))
		if left <= 0 {
			b.showOut(late, first)
			left = b.answer / 10
		}
		err := b.sleep(late, left, turn)
		cancel()
		if err != nil {
			b.leaveLine(place)
			return unknown, domain.Unavailablef("etcd at %s: the line of nodes in which this one stands has not moved for %v", b.addr, 2*b.answer)
		}
	}
}

// showOut takes the first in line out of it. Whether that succeeds is seen in
// the mirror.
func (b *Board) showOut(ctx context.Context, first int64) {
	b.mu.Lock()
	var key string
	for name, mod := range b.mirror.line.places {
		if mod == first {
			key = b.prefix + lineName + name
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, b.answer/4)
	defer cancel()
	b.log.Warn("a node kept the others waiting and was shown out of the line", "place", strings.TrimPrefix(key, b.prefix))
	_ = b.takeAway(ctx, key, first)
}

// leaveLine gives up a place. Where that fails, the others show it out.
func (b *Board) leaveLine(place int64) {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer/4)
	defer cancel()
	_ = b.takeAway(ctx, b.placeKey(), place)
}

// takeAway deletes a key if it is still as it was.
func (b *Board) takeAway(ctx context.Context, key string, mod int64) error {
	_, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", mod)).
		Then(clientv3.OpDelete(key), b.putHead()).
		Commit()
	return b.translate(err)
}
