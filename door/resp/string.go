package resp

import (
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/keyspace"
)

// This file has the commands on strings: records with one field, keyspace.StringField.

var stringCommands = []command{
	{name: "get", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: get},
	{name: "strlen", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: strlen},
	{name: "mget", arity: -2, first: 1, last: -1, step: 1, class: keyspace.Read, much: true, run: mget},
	{name: "set", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: set},
	{name: "setnx", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: setnx},
	{name: "setex", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: func(x *call) error { return setFor(x, time.Second) }},
	{name: "psetex", arity: 4, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: func(x *call) error { return setFor(x, time.Millisecond) }},
	{name: "mset", arity: -3, first: 1, last: -1, step: 2, class: keyspace.Write, writes: true, run: mset},
	{name: "getset", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: getset},
	{name: "getdel", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Delete, writes: true, run: getdel},
	{name: "append", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: appendText},
	{name: "incr", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: func(x *call) error { return count(x, 1) }},
	{name: "decr", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: func(x *call) error { return count(x, -1) }},
	{name: "incrby", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: func(x *call) error { return countBy(x, 1) }},
	{name: "decrby", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: func(x *call) error { return countBy(x, -1) }},
	{name: "incrbyfloat", arity: 3, first: 1, last: 1, step: 1, class: keyspace.Write, writes: true, run: incrbyfloat},
}

// free refuses strings where the layout has hashes.
func freeForStrings(x *call, key string) error {
	if keyspace.Of(x.s.space(), key).ByField() {
		return failure("NOPERM " + key + ": " + keyspace.IsHash)
	}
	return nil
}

// putText writes a string, over whatever was there.
func putText(x *call, l *leaf, text string) error {
	if err := freeForStrings(x, l.key); err != nil {
		return err
	}
	x.s.put(l, board.Field{Name: keyspace.StringField, Value: text})
	return nil
}

// replace writes a string over whatever was there, with its time to live.
func replace(x *call, key, text string) (*leaf, error) {
	if err := freeForStrings(x, key); err != nil {
		return nil, err
	}
	l := x.s.leaf(key)
	x.s.remove(l)
	return l, putText(x, l, text)
}

func get(x *call) error {
	_, text, there, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	x.a.bulkOr(text, there)
	return nil
}

func strlen(x *call) error {
	_, text, _, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	x.a.number(len(text))
	return nil
}

// mget answers null for what is no string.
func mget(x *call) error {
	x.a.array(len(x.args) - 1)
	for _, key := range x.args[1:] {
		_, text, there, err := x.s.text(key)
		if err == errWrongType {
			there, err = false, nil
		}
		if err != nil {
			return err
		}
		x.a.bulkOr(text, there)
	}
	return nil
}

// setting are the options of SET.
type setting struct {
	onlyNew, onlyThere, get, keep bool
	until                         time.Time
}

func readSetting(now time.Time, args []string) (o setting, err error) {
	for i := 0; i < len(args); i++ {
		switch word := strings.ToUpper(args[i]); word {
		case "NX":
			o.onlyNew = true
		case "XX":
			o.onlyThere = true
		case "GET":
			o.get = true
		case "KEEPTTL":
			o.keep = true
		case "EX", "PX", "EXAT", "PXAT":
			if i++; i == len(args) || !o.until.IsZero() {
				return o, errSyntax
			}
			if o.until, err = instant(now, args[i], word, "set"); err != nil {
				return o, err
			}
		default:
			return o, errSyntax
		}
	}
	if o.onlyNew && o.onlyThere || o.keep && !o.until.IsZero() {
		return o, errSyntax
	}
	return o, nil
}

// instant reads when something ends: after EX seconds, PX milliseconds, at EXAT
// seconds or PXAT milliseconds of Unix time.
func instant(now time.Time, arg, unit, command string) (time.Time, error) {
	n, err := integer(arg)
	if err != nil {
		return time.Time{}, err
	}
	most := map[string]int64{"EX": int64(maxPatience / time.Second), "PX": int64(maxPatience / time.Millisecond), "EXAT": lastSecond, "PXAT": lastSecond * 1000}
	if n <= 0 || n > most[unit] {
		return time.Time{}, failure("ERR invalid expire time in '" + command + "' command")
	}
	switch unit {
	case "EX":
		return now.Add(time.Duration(n) * time.Second), nil
	case "PX":
		return now.Add(time.Duration(n) * time.Millisecond), nil
	case "EXAT":
		return time.Unix(n, 0), nil
	}
	return time.UnixMilli(n), nil
}

// lastSecond is the end of the year 9999.
const lastSecond = 253_402_300_799

func set(x *call) error {
	o, err := readSetting(x.s.now, x.args[3:])
	if err != nil {
		return err
	}
	key := x.args[1]
	if err := freeForStrings(x, key); err != nil {
		return err
	}
	l := x.s.leaf(key)
	if o.onlyNew || o.onlyThere || o.get || o.keep {
		if done, err := setAfterLook(x, l, &o); done || err != nil {
			return err
		}
	} else {
		x.a.ok()
	}
	x.s.remove(l)
	if err := putText(x, l, x.args[2]); err != nil {
		return err
	}
	if !o.until.IsZero() {
		x.s.expireAt(l, o.until)
	}
	return nil
}

// setAfterLook answers a SET that hangs on what is there. done is true when
// nothing is to be set.
func setAfterLook(x *call, l *leaf, o *setting) (done bool, err error) {
	var old string
	var there bool
	if o.get {
		_, old, there, err = x.s.text(l.key)
	} else {
		there, err = x.s.there(l)
	}
	if err != nil {
		return false, err
	}
	if o.keep && there {
		if o.until, err = x.s.expiry(l); err != nil {
			return false, err
		}
	}
	switch {
	case there && l.record.read != 0:
		x.s.pin(l, keyspace.StringField)
	case !there:
		x.s.pinAbsent(l)
	}
	refused := o.onlyNew && there || o.onlyThere && !there
	switch {
	case o.get:
		x.a.bulkOr(old, there) // who may write strings may read them
	case refused:
		x.a.null()
	default:
		x.a.ok()
	}
	return refused, nil
}

func setnx(x *call) error {
	l := x.s.leaf(x.args[1])
	if err := freeForStrings(x, l.key); err != nil {
		return err
	}
	there, err := x.s.there(l)
	if err != nil {
		return err
	}
	if there {
		x.a.number(0)
		return nil
	}
	x.s.pinAbsent(l)
	x.a.number(1)
	_, err = replace(x, l.key, x.args[2])
	return err
}

func setFor(x *call, unit time.Duration) error {
	word := "PX"
	if unit == time.Second {
		word = "EX"
	}
	until, err := instant(x.s.now, x.args[2], word, strings.ToLower(x.args[0]))
	if err != nil {
		return err
	}
	l, err := replace(x, x.args[1], x.args[3])
	if err != nil {
		return err
	}
	x.s.expireAt(l, until)
	x.a.ok()
	return nil
}

func mset(x *call) error {
	if len(x.args)%2 == 0 {
		return errArity(x.args[0])
	}
	for i := 1; i < len(x.args); i += 2 {
		if err := freeForStrings(x, x.args[i]); err != nil {
			return err
		}
	}
	for i := 1; i < len(x.args); i += 2 {
		if _, err := replace(x, x.args[i], x.args[i+1]); err != nil {
			return err
		}
	}
	x.a.ok()
	return nil
}

func getset(x *call) error {
	l, old, there, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	x.s.pin(l, keyspace.StringField)
	if _, err := replace(x, l.key, x.args[2]); err != nil {
		return err
	}
	x.a.bulkOr(old, there)
	return nil
}

func getdel(x *call) error {
	l, old, there, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	if there {
		x.s.pin(l, keyspace.StringField)
		x.s.remove(l)
	}
	x.a.bulkOr(old, there)
	return nil
}

func appendText(x *call) error {
	l, old, _, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	x.s.pin(l, keyspace.StringField)
	if err := putText(x, l, old+x.args[2]); err != nil {
		return err
	}
	x.a.number(len(old) + len(x.args[2]))
	return nil
}

func countBy(x *call, sign int64) error {
	by, err := integer(x.args[2])
	if err != nil || sign < 0 && by == -by && by != 0 {
		return errInteger
	}
	return count(x, sign*by)
}

func count(x *call, by int64) error {
	l, old, there, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	n, err := sum(old, there, by, errInteger)
	if err != nil {
		return err
	}
	x.s.pin(l, keyspace.StringField)
	if err := putText(x, l, strconv.FormatInt(n, 10)); err != nil {
		return err
	}
	x.a.number64(n)
	return nil
}

func incrbyfloat(x *call) error {
	l, old, there, err := x.s.text(x.args[1])
	if err != nil {
		return err
	}
	n, err := sumFloat(old, there, x.args[2], errFloat)
	if err != nil {
		return err
	}
	x.s.pin(l, keyspace.StringField)
	if err := putText(x, l, n); err != nil {
		return err
	}
	x.a.bulk(n)
	return nil
}
