package resp

import (
	"slices"

	"github.com/ramet-run/ramet/keyspace"
)

var setCommands = []command{
	{name: "sadd", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: sadd},
	{name: "srem", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, less: true, run: srem},
	{name: "smembers", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, much: true, run: smembers},
	{name: "sismember", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Read, run: sismember},
	{name: "smismember", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Read, run: smismember},
	{name: "scard", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: scard},
	{name: "sscan", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Read, much: true, run: sscan},
}

// changeSet puts members in or takes them out, and answers how many that were.
func changeSet(x *call, in bool) error {
	if err := freeForStrings(x, x.args[1]); err != nil {
		return err
	}
	l, err := x.s.setOf(x.args[1])
	if err != nil {
		return err
	}
	var moved []string
	for _, m := range x.args[2:] {
		has, err := x.s.has(l, m)
		if err != nil {
			return err
		}
		if has != in && !slices.Contains(moved, m) {
			moved = append(moved, m)
		}
	}
	if len(moved) > 0 && in {
		x.s.include(l, moved...)
	} else if len(moved) > 0 {
		x.s.exclude(l, moved...)
	}
	x.a.number(len(moved))
	return nil
}

func sadd(x *call) error { return changeSet(x, true) }
func srem(x *call) error { return changeSet(x, false) }

func allMembers(x *call) ([]string, error) {
	l, err := x.s.setOf(x.args[1])
	if err != nil {
		return nil, err
	}
	return x.s.members(l)
}

func smembers(x *call) error {
	list, err := allMembers(x)
	if err != nil {
		return err
	}
	x.a.members(len(list))
	for _, m := range list {
		x.a.bulk(m)
	}
	return nil
}

func scard(x *call) error {
	list, err := allMembers(x)
	if err != nil {
		return err
	}
	x.a.number(len(list))
	return nil
}

func sismember(x *call) error {
	l, err := x.s.setOf(x.args[1])
	if err != nil {
		return err
	}
	has, err := x.s.has(l, x.args[2])
	if err != nil {
		return err
	}
	x.a.yes(has)
	return nil
}

func smismember(x *call) error {
	l, err := x.s.setOf(x.args[1])
	if err != nil {
		return err
	}
	x.a.array(len(x.args) - 2)
	for _, m := range x.args[2:] {
		has, err := x.s.has(l, m)
		if err != nil {
			return err
		}
		x.a.yes(has)
	}
	return nil
}

// sscan pages through a set of any size.
func sscan(x *call) error {
	o, err := scanOptions(x.args[3:], false)
	if err != nil {
		return err
	}
	at, err := x.c.door.cursors.find(x.args[2], place{x.c.who.Actor, x.s.space(), "s" + x.args[1]})
	if err != nil {
		return err
	}
	if _, err := x.s.setOf(x.args[1]); err != nil {
		return err
	}
	o.count = min(o.count, itemsAtOnce)
	page, err := x.s.board.Members(x.s.ctx, x.s.space(), x.args[1], at, o.count)
	if err != nil {
		return wrongKind(err)
	}
	next := ""
	if len(page) == o.count {
		next = page[len(page)-1]
	}
	match, err := x.c.door.match(o.match)
	if err != nil {
		return err
	}
	var out []string
	for _, m := range page {
		fits, err := match.of(m)
		if err != nil {
			return err
		}
		if fits {
			out = append(out, m)
		}
	}
	x.a.array(2)
	x.a.bulk(x.c.door.cursors.keep(next, place{x.c.who.Actor, x.s.space(), "s" + x.args[1]}))
	x.a.bulks(out)
	return nil
}
