package resp

import (
	"math"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/keyspace"
)

var hashCommands = []command{
	{name: "hset", arity: -4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: hset},
	{name: "hmset", arity: -4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: hset},
	{name: "hsetnx", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: hsetnx},
	{name: "hdel", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, less: true, run: hdel},
	{name: "hincrby", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: hincrby},
	{name: "hincrbyfloat", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: hincrbyfloat},
	{name: "hget", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Read, run: hget},
	{name: "hmget", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Read, run: hmget},
	{name: "hexists", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Read, run: hexists},
	{name: "hstrlen", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Read, run: hstrlen},
	{name: "hgetall", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return hall(x, true, true) }},
	{name: "hkeys", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return hall(x, true, false) }},
	{name: "hvals", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return hall(x, false, true) }},
	{name: "hlen", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: hlen},
	{name: "hscan", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Read, run: hscan},
}

// hset answers with how many of the fields are new.
func hset(x *call) error {
	if len(x.args)%2 != 0 {
		return errArity(x.args[0])
	}
	n := len(x.args)/2 - 1
	names := slices.Grow(x.names[:0], n+1) // and the one of strings
	fields := make([]board.Field, 0, n)
	for i := 2; i < len(x.args); i += 2 {
		names = append(names, x.args[i])
		fields = append(fields, board.Field{Name: x.args[i], Value: x.args[i+1]})
	}
	x.names = names
	l, err := x.s.hash(x.args[1], names...)
	if err != nil {
		return err
	}
	made, err := x.write(l, fields...)
	if err != nil {
		return err
	}
	if is(x.args[0], "hmset") {
		x.a.ok()
		return nil
	}
	x.a.number(made)
	return nil
}

func hsetnx(x *call) error {
	l, err := x.s.hash(x.args[1], x.args[2])
	if err != nil {
		return err
	}
	f := board.Field{Name: x.args[2], Value: x.args[3]}
	if err := x.check(l, []board.Field{f}, nil); err != nil {
		return err
	}
	_, there := l.field(f.Name)
	if !there {
		x.s.pin(l, f.Name)
		x.s.put(l, f)
	}
	x.a.yes(!there)
	return nil
}

func hdel(x *call) error {
	l, err := x.s.hash(x.args[1], x.args[2:]...)
	if err != nil {
		return err
	}
	var there []string
	for _, name := range x.args[2:] {
		if _, is := l.field(name); is && !slices.Contains(there, name) {
			there = append(there, name)
		}
	}
	if err := x.check(l, nil, x.args[2:]); err != nil {
		return err
	}
	if len(there) > 0 {
		x.s.cut(l, there...)
	}
	x.a.number(len(there))
	return nil
}

// sum adds to a number in 64 bits.
func sum(text string, there bool, by int64, wrong error) (int64, error) {
	var old int64
	if there {
		var ok bool
		if old, ok = board.Number(text); !ok {
			return 0, wrong
		}
	}
	if by > 0 && old > math.MaxInt64-by || by < 0 && old < math.MinInt64-by {
		return 0, errOverflow
	}
	return old + by, nil
}

func sumFloat(text string, there bool, by string, wrong error) (string, error) {
	n, err := strconv.ParseFloat(by, 64)
	if err != nil {
		return "", errFloat
	}
	var old float64
	if there {
		if old, err = strconv.ParseFloat(text, 64); err != nil {
			return "", wrong
		}
	}
	if n += old; math.IsNaN(n) || math.IsInf(n, 0) {
		return "", failure("ERR increment would produce NaN or Infinity")
	}
	return realText(n), nil
}

func hincrby(x *call) error {
	by, err := integer(x.args[3])
	if err != nil {
		return err
	}
	l, err := x.s.hash(x.args[1], x.args[2])
	if err != nil {
		return err
	}
	text, there := l.field(x.args[2])
	n, err := sum(text, there, by, errHashInt)
	if err != nil {
		return err
	}
	x.s.pin(l, x.args[2])
	if _, err := x.write(l, board.Field{Name: x.args[2], Value: strconv.FormatInt(n, 10)}); err != nil {
		return err
	}
	x.a.number64(n)
	return nil
}

func hincrbyfloat(x *call) error {
	l, err := x.s.hash(x.args[1], x.args[2])
	if err != nil {
		return err
	}
	text, there := l.field(x.args[2])
	n, err := sumFloat(text, there, x.args[3], failure("ERR hash value is not a float"))
	if err != nil {
		return err
	}
	x.s.pin(l, x.args[2])
	if _, err := x.write(l, board.Field{Name: x.args[2], Value: n}); err != nil {
		return err
	}
	x.a.bulk(n)
	return nil
}

func hget(x *call) error {
	l, err := x.s.hash(x.args[1], x.args[2])
	if err != nil {
		return err
	}
	text, there := l.field(x.args[2])
	if text, err = x.visible(l, x.args[2], text); err != nil {
		return err
	}
	x.a.bulkOr(text, there)
	return nil
}

func hmget(x *call) error {
	names := x.args[2:]
	l, err := x.s.hash(x.args[1], names...)
	if err != nil {
		return err
	}
	x.a.array(len(names))
	for _, name := range names {
		text, there := l.field(name)
		if text, err = x.visible(l, name, text); err != nil {
			return err
		}
		x.a.bulkOr(text, there)
	}
	return nil
}

func hexists(x *call) error {
	l, err := x.s.hash(x.args[1], x.args[2])
	if err != nil {
		return err
	}
	_, there := l.field(x.args[2])
	x.a.yes(there)
	return nil
}

func hstrlen(x *call) error {
	l, err := x.s.hash(x.args[1], x.args[2])
	if err != nil {
		return err
	}
	text, _ := l.field(x.args[2])
	if text, err = x.visible(l, x.args[2], text); err != nil {
		return err
	}
	x.a.number(len(text))
	return nil
}

// shown are a hash's fields as the client may see them.
func shown(x *call) ([]board.Field, error) {
	l, err := x.s.wholeHash(x.args[1])
	if err != nil {
		return nil, err
	}
	out := make([]board.Field, 0, len(l.record.cells))
	for _, c := range l.record.cells {
		if !c.there {
			continue
		}
		text, err := x.visible(l, c.name, c.text)
		if err != nil {
			return nil, err
		}
		out = append(out, board.Field{Name: c.name, Value: text})
	}
	return out, nil
}

func hall(x *call, names, values bool) error {
	fields, err := shown(x)
	if err != nil {
		return err
	}
	if names && values {
		x.a.pairs(len(fields))
	} else {
		x.a.array(len(fields))
	}
	for _, f := range fields {
		if names {
			x.a.bulk(f.Name)
		}
		if values {
			x.a.bulk(f.Value)
		}
	}
	return nil
}

func hlen(x *call) error {
	fields, err := shown(x)
	if err != nil {
		return err
	}
	x.a.number(len(fields))
	return nil
}

// hscan answers with all at once: a record has 4 MiB at the most.
func hscan(x *call) error {
	o, err := scanOptions(x.args[3:], false)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(x.args[2], 10, 64); err != nil {
		return failure("ERR invalid cursor")
	}
	fields, err := shown(x)
	if err != nil {
		return err
	}
	match, err := x.c.door.match(o.match)
	if err != nil {
		return err
	}
	var out []string
	for _, f := range fields {
		fits, err := match.of(f.Name)
		if err != nil {
			return err
		}
		if fits {
			out = append(out, f.Name, f.Value)
		}
	}
	x.a.array(2)
	x.a.bulk("0")
	x.a.bulks(out)
	return nil
}
