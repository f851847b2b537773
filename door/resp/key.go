package resp

import (
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/keyspace"
)

var keyCommands = []command{
	{name: "exists", arity: -2, first: 1, last: -1, step: 1, class: keyspace.Read, run: exists},
	{name: "touch", arity: -2, first: 1, last: -1, step: 1, class: keyspace.Read, run: exists},
	{name: "type", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: typeOf},
	{name: "del", arity: -2, first: 1, last: -1, step: 1, class: keyspace.Delete, writes: true, run: del},
	{name: "unlink", arity: -2, first: 1, last: -1, step: 1, class: keyspace.Delete, writes: true, run: del},
	{name: "expire", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Expire, writes: true,
		run: func(x *call) error { return expire(x, time.Second, false) }},
	{name: "pexpire", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Expire, writes: true,
		run: func(x *call) error { return expire(x, time.Millisecond, false) }},
	{name: "expireat", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Expire, writes: true,
		run: func(x *call) error { return expire(x, time.Second, true) }},
	{name: "pexpireat", arity: -3, first: 1, last: 1, step: 1, class: keyspace.Expire, writes: true, run: func(x *call) error {
		return expire(x, time.Millisecond, true)
	}},
	{name: "persist", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Expire, writes: true, run: persist},
	{name: "ttl", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return ttl(x, time.Second, false) }},
	{name: "pttl", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return ttl(x, time.Millisecond, false) }},
	{name: "expiretime", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return ttl(x, time.Second, true) }},
	{name: "pexpiretime", arity: 2, first: 1, last: 1, step: 1, class: keyspace.Read, run: func(x *call) error { return ttl(x, time.Millisecond, true) }},
	{name: "keys", arity: 2, much: true, run: keysLike},
	{name: "scan", arity: -2, much: true, run: scan},
	{name: "dbsize", arity: 1, much: true, run: dbsize},
}

func exists(x *call) error {
	n := 0
	for _, key := range x.args[1:] {
		there, err := x.s.there(x.s.leaf(key))
		if err != nil {
			return err
		}
		if there {
			n++
		}
	}
	x.a.number(n)
	return nil
}

// words are Redis' for the kinds of the board.
var words = map[board.Kind]string{"": "none", board.KindRecord: "hash", board.KindList: "list", board.KindSet: "set", board.KindOther: "other"}

// kindOf is what a key holds, in Redis' words.
func kindOf(s *sheet, key string) (string, error) {
	l := s.leaf(key)
	there, err := s.there(l)
	if err != nil || !there {
		return words[""], err
	}
	if l.kind == board.KindRecord {
		if err := s.load(l, keyspace.StringField); err != nil {
			return "", err
		}
		if _, text := l.field(keyspace.StringField); text {
			return "string", nil
		}
	}
	return words[l.kind], nil
}

func typeOf(x *call) error {
	word, err := kindOf(x.s, x.args[1])
	if err != nil {
		return err
	}
	x.a.status(word)
	return nil
}

func del(x *call) error {
	var list []*leaf
	for _, key := range x.args[1:] {
		l := x.s.leaf(key)
		there, err := x.s.there(l)
		if err != nil {
			return err
		}
		if kind := keyspace.Of(x.s.space(), key); there && kind.Drop != nil {
			x.change = keyspace.Change{Key: key}
			if _, err := x.ask(kind.Drop, l); err != nil {
				return err
			}
		}
		if there {
			list = append(list, l)
		}
	}
	n := 0
	for _, l := range list {
		if l.gone && l.kind == "" {
			continue // named twice
		}
		x.s.remove(l)
		n++
	}
	x.a.number(n)
	return nil
}

func expire(x *call, unit time.Duration, at bool) error {
	n, err := integer(x.args[2])
	if err != nil {
		return err
	}
	most := int64(maxPatience / unit)
	if at {
		most = lastSecond * int64(time.Second/unit)
	}
	if n > most || n < -most {
		return failure("ERR invalid expire time in '" + strings.ToLower(x.args[0]) + "' command")
	}
	until := time.UnixMilli(n * int64(unit/time.Millisecond))
	if !at {
		until = x.s.now.Add(time.Duration(n) * unit)
	}
	l := x.s.leaf(x.args[1])
	there, err := x.s.there(l)
	if err != nil {
		return err
	}
	if !there {
		x.a.number(0)
		return nil
	}
	old, err := x.s.expiry(l)
	if err != nil {
		return err
	}
	fits, err := expireIf(x.args[3:], old, until)
	if err != nil {
		return err
	}
	if fits {
		x.s.expireAt(l, until)
	}
	x.a.yes(fits)
	return nil
}

// expireIf judges NX, XX, GT and LT. A key that does not expire lasts for ever.
func expireIf(args []string, old, until time.Time) (fits bool, err error) {
	fits = true
	var nx, others bool
	for _, arg := range args {
		switch strings.ToUpper(arg) {
		case "NX":
			nx = true
			fits = fits && old.IsZero()
		case "XX":
			others = true
			fits = fits && !old.IsZero()
		case "GT":
			others = true
			fits = fits && !old.IsZero() && until.After(old)
		case "LT":
			others = true
			fits = fits && (old.IsZero() || until.Before(old))
		default:
			return false, failure("ERR Unsupported option " + clip(arg, 64))
		}
	}
	if nx && others {
		return false, failure("ERR NX and XX, GT or LT options at the same time are not compatible")
	}
	return fits, nil
}

func persist(x *call) error {
	l := x.s.leaf(x.args[1])
	there, err := x.s.there(l)
	if err != nil {
		return err
	}
	old := time.Time{}
	if there {
		if old, err = x.s.expiry(l); err != nil {
			return err
		}
	}
	if !old.IsZero() {
		x.s.expireAt(l, time.Time{})
	}
	x.a.yes(!old.IsZero())
	return nil
}

func ttl(x *call, unit time.Duration, instant bool) error {
	l := x.s.leaf(x.args[1])
	there, err := x.s.there(l)
	if err != nil {
		return err
	}
	if !there {
		x.a.number(-2)
		return nil
	}
	at, err := x.s.expiry(l)
	switch {
	case err != nil:
		return err
	case at.IsZero():
		x.a.number(-1)
	case instant:
		x.a.number64(at.UnixMilli() / int64(unit/time.Millisecond))
	default:
		// Rounded as Redis does: half a second is 1.
		x.a.number64(int64((max(at.Sub(x.s.now), 0) + unit/2) / unit))
	}
	return nil
}

// mayList asks for the right to name keys.
func mayList(x *call) error {
	return x.c.may(x.s.now, x.s.space(), keyspace.Knowing(x.s.space()), "keys", identity.AnyGroup)
}

// listPage is how many keys are asked of the board at once.
const listPage = 1000

func keysLike(x *call) error {
	if err := mayList(x); err != nil {
		return err
	}
	match, err := x.c.door.match(x.args[1])
	if err != nil {
		return err
	}
	var out []string
	seen := map[string]bool{}
	err = eachKey(x, literal(x.args[1]), func(key string) error {
		fits, err := match.of(key)
		if err != nil {
			return err
		}
		if fits && !seen[key] && x.c.lists(x.s.now, key) {
			seen[key] = true
			out = append(out, key)
		}
		if len(out) > maxAnswerItems {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.a.bulks(out)
	return nil
}

// eachKey calls f for the keys with a prefix; for some more than once.
func eachKey(x *call, prefix string, f func(key string) error) error {
	if len(prefix) > board.MaxKey {
		return nil
	}
	for cursor := ""; ; {
		page, next, err := x.s.board.Keys(x.s.ctx, x.s.space(), prefix, cursor, listPage)
		if err != nil {
			return err
		}
		for _, key := range page {
			if err := f(key); err != nil {
				return err
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
}

// dbsize counts the keys that the client may know of. It reads them all.
func dbsize(x *call) error {
	if err := mayList(x); err != nil {
		return err
	}
	seen := map[string]bool{}
	err := eachKey(x, "", func(key string) error {
		if x.c.lists(x.s.now, key) {
			seen[key] = true
		}
		if len(seen) > 10*maxAnswerItems {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.a.number(len(seen))
	return nil
}
