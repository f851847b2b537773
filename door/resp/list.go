package resp

import (
	"math"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/keyspace"
)

// maxPopped is how many items one command pops: each costs a guard of the batch.
const maxPopped = 900

// maxPoppedBytes ends what one command pops early, as a list that has no more does:
// who pops goes on anyway.
const maxPoppedBytes = maxAnswer / 2

var listCommands = []command{
	{name: "lpush", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Push, writes: true, run: func(x *call) error { return push(x, true, false) }},
	{name: "rpush", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Push, writes: true, run: func(x *call) error { return push(x, false, false) }},
	{name: "lpushx", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Push, writes: true, run: func(x *call) error { return push(x, true, true) }},
	{name: "rpushx", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Push, writes: true, run: func(x *call) error { return push(x, false, true) }},
	{name: "lpop", arity: -2, first: 1, last: 1, step: 1, class: keyspace.Pop, writes: true, single: true, run: func(x *call) error { return pop(x, true) }},
	{name: "rpop", arity: -2, first: 1, last: 1, step: 1, class: keyspace.Pop, writes: true, single: true, run: func(x *call) error { return pop(x, false) }},
	{name: "blpop", arity: -3, first: 1, last: -2, step: 1, class: keyspace.Pop, writes: true, blocks: true, run: func(x *call) error { return popAny(x, true) },
		undo: func(c *client, w *waiter) { putBack(c, w, true) }},
	{name: "brpop", arity: -3, first: 1, last: -2, step: 1, class: keyspace.Pop, writes: true, blocks: true, run: func(x *call) error { return popAny(x, false) },
		undo: func(c *client, w *waiter) { putBack(c, w, false) }},
	{name: "lmove", arity: 5, first: 1, last: 2, step: 1, class: keyspace.Pop, second: &pushed, writes: true, single: true, run: lmove},
	{name: "blmove", arity: 6, first: 1, last: 2, step: 1, class: keyspace.Pop, second: &pushed, writes: true, single: true, blocks: true, run: lmove},
	{name: "rpoplpush", arity: 3, first: 1, last: 2, step: 1, class: keyspace.Pop, second: &pushed, writes: true, single: true, run: rpoplpush},
	{name: "brpoplpush", arity: 4, first: 1, last: 2, step: 1, class: keyspace.Pop, second: &pushed, writes: true, single: true, blocks: true, run: rpoplpush},
	{name: "llen", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: llen},
	{name: "lrange", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Read, much: true, run: lrange},
	{name: "lindex", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Read, run: lindex},
	{name: "lrem", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Prune, writes: true, run: lrem},
	{name: "ltrim", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Prune, writes: true, run: ltrim},
}

// push answers with the length. Nothing is guarded by it: where the engine or
// another node changes the list in the same instant, it is the one before.
func push(x *call, left, onlyThere bool) error {
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	n, err := x.s.length(l)
	if err != nil {
		return err
	}
	if onlyThere && n == 0 {
		x.a.number(0)
		return nil
	}
	kind := keyspace.Of(x.s.space(), l.key)
	for _, item := range x.args[2:] {
		if err := x.offer(kind, l.key, item); err != nil {
			return err
		}
	}
	x.s.push(l, left, x.args[2:]...)
	x.a.number(n + len(x.args) - 2)
	return nil
}

func pop(x *call, left bool) error {
	if len(x.args) > 3 {
		return errArity(x.args[0])
	}
	if len(x.args) == 3 {
		return popMany(x, left)
	}
	item, ok, err := x.takeItem(x.args[1], left)
	if err != nil {
		return err
	}
	if !ok {
		return errBlock
	}
	x.a.bulk(item)
	return nil
}

func popMany(x *call, left bool) error {
	n, err := count32(x.args[2])
	switch {
	case err != nil || n < 0:
		return failure("ERR value is out of range, must be positive")
	case n > maxPopped:
		return failure("ERR value is out of range: one command pops up to " + strconv.Itoa(maxPopped) + " items")
	}
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	if there, err := x.s.length(l); err != nil {
		return err
	} else if there == 0 {
		x.a.nullArray()
		return nil
	}
	var items []string
	for bytes := 0; len(items) < n && bytes < maxPoppedBytes; {
		item, ok, err := x.takeItem(x.args[1], left)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		items = append(items, item)
		bytes += len(item)
	}
	x.a.bulks(items)
	return nil
}

// popAny takes from the first list that has something.
func popAny(x *call, left bool) error {
	for _, key := range x.args[1 : len(x.args)-1] {
		item, ok, err := x.takeItem(key, left)
		if err != nil {
			return err
		}
		if ok {
			x.took = [2]string{key, item}
			x.a.array(2)
			x.a.bulk(key)
			x.a.bulk(item)
			return nil
		}
	}
	return errBlock
}

// putBack pushes an item again whose client went before it could be told.
func putBack(c *client, w *waiter, left bool) {
	args := []string{"rpush", w.took[0], w.took[1]}
	if left {
		args[0] = "lpush"
	}
	l := &ask{c: c, out: &answer{}, turn: make(chan bool, 1)}
	l.cmds = []queued{{&command{name: args[0], writes: true, run: func(x *call) error {
		kind := keyspace.Of(x.s.space(), w.took[0])
		if _, err := x.askItem(kind, kind.Untake, w.took[0], w.took[1]); err != nil {
			return err
		}
		return push(x, left, false)
	}}, args}}
	c.desk.run(l)
}

// side reads LEFT or RIGHT.
func side(arg string) (left bool, err error) {
	switch {
	case is(arg, "left"):
		return true, nil
	case is(arg, "right"):
		return false, nil
	}
	return false, errSyntax
}

func lmove(x *call) error {
	from, err := side(x.args[3])
	if err != nil {
		return err
	}
	to, err := side(x.args[4])
	if err != nil {
		return err
	}
	return move(x, x.args[1], x.args[2], from, to)
}

func rpoplpush(x *call) error { return move(x, x.args[1], x.args[2], false, true) }

// move takes an item from one list and puts it on another, or the same, in one
// commit.
func move(x *call, from, to string, fromLeft, toLeft bool) error {
	src, err := x.s.listOf(from)
	if err != nil {
		return err
	}
	only, there, err := x.s.first(src, fromLeft)
	if err != nil {
		return err
	} else if !there {
		return errBlock
	}
	l, err := x.s.listOf(to)
	if err != nil {
		return err
	}
	n, err := x.s.length(l)
	if err != nil { // it may be no list
		return err
	}
	if keyspace.Of(x.s.space(), from).Take == nil { // else what is handed out has a record
		if err := x.offer(keyspace.Of(x.s.space(), to), to, only); err != nil {
			return err
		}
	}
	// The only item of a list is put there once more first: an empty list would be
	// gone, and its expiry with it. Queues, whose items may be refused, have none.
	again := from == to && n == 1 && keyspace.Of(x.s.space(), from).Take == nil
	if again {
		x.s.push(l, toLeft, only)
	}
	item, ok, err := x.takeItem(from, fromLeft)
	if err != nil {
		return err
	}
	if !ok {
		return errBlock
	}
	if !again {
		x.s.push(l, toLeft, item)
	}
	x.a.bulk(item)
	return nil
}

func llen(x *call) error {
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	n, err := x.s.length(l)
	if err != nil {
		return err
	}
	x.a.number(n)
	return nil
}

// index turns one that may count from the end into one from the start.
func index(i, n int) int {
	if i < 0 {
		return i + n
	}
	return i
}

// bounds reads two indexes of a list of n items and returns the part between.
func bounds(from, to string, n int) (start, count int, err error) {
	a, errA := count32(from)
	b, errB := count32(to)
	if errA != nil || errB != nil {
		return 0, 0, errInteger
	}
	start = max(index(a, n), 0)
	end := min(index(b, n), n-1)
	return start, max(end-start+1, 0), nil
}

func lrange(x *call) error {
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	n, err := x.s.length(l)
	if err != nil {
		return err
	}
	start, count, err := bounds(x.args[2], x.args[3], n)
	if err != nil {
		return err
	}
	var items []string
	if count > 0 {
		if items, err = x.s.items(l, start, count); err != nil {
			return err
		}
	}
	x.a.bulks(items)
	return nil
}

func lindex(x *call) error {
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	i, err := count32(x.args[2])
	if err != nil {
		return err
	}
	n, err := x.s.length(l)
	if err != nil {
		return err
	}
	at := index(i, n)
	if at < 0 || at >= n {
		x.a.null()
		return nil
	}
	items, err := x.s.items(l, at, 1)
	if err != nil {
		return err
	}
	if len(items) == 0 { // it has become shorter
		x.a.null()
		return nil
	}
	x.a.bulk(items[0])
	return nil
}

// maxMatches is how many of the items that LREM removes are guarded one by one.
const maxMatches = 64

func lrem(x *call) error {
	n, err := count32(x.args[2])
	if err != nil {
		return err
	}
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	if t := l.list; len(t.lefts)+len(t.rights)+t.tookLeft+t.tookRight > 0 {
		return errFlush
	}
	size, err := x.s.size(l)
	if err != nil {
		return err
	}
	items, err := x.s.pages(l, 0, size)
	if err != nil {
		return err
	}
	var at []int
	for i, it := range items {
		if it == x.args[3] {
			at = append(at, i)
		}
	}
	switch most := max(n, -n); {
	case n > 0 && len(at) > most:
		at = at[:most]
	case n < 0 && len(at) > most:
		at = at[len(at)-most:]
	}
	if len(at) > 0 {
		x.s.pinLength(l)
		for _, i := range at[:min(len(at), maxMatches)] {
			x.s.batch.ItemAt(l.key, i, x.args[3])
		}
		x.s.batch.DropSome(l.key, n, x.args[3])
		l.opaque = true
	}
	x.a.number(len(at))
	return nil
}

func ltrim(x *call) error {
	l, err := x.s.listOf(x.args[1])
	if err != nil {
		return err
	}
	n, err := x.s.length(l)
	if err != nil {
		return err
	}
	start, count, err := bounds(x.args[2], x.args[3], n)
	if err != nil {
		return err
	}
	if count < n {
		x.s.pinLength(l)
		if count == 0 {
			start = n
		}
		x.s.drop(l, true, min(start, n))
		x.s.drop(l, false, n-min(start, n)-count)
	}
	x.a.ok()
	return nil
}

// timeout reads a blocking command's patience in seconds; 0 is for ever.
func timeout(arg string) (time.Duration, error) {
	s, err := strconv.ParseFloat(arg, 64)
	switch {
	case err != nil || math.IsNaN(s) || math.IsInf(s, 0):
		return 0, errTimeout
	case s < 0:
		return 0, errNegative
	case s > maxPatience.Seconds():
		return 0, nil
	}
	// Rounded up: the least time is not taken for ever.
	return time.Duration(math.Ceil(s*1000)) * time.Millisecond, nil
}

// maxPatience is as good as for ever.
const maxPatience = 100 * 365 * 24 * time.Hour
