package resp

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/keyspace"
)

// call is one command being done on a sheet.
type call struct {
	d    *desk
	c    *client
	s    *sheet
	a    *answer
	args []string
	// took is the list and the item that a blocking pop took.
	took [2]string
	// names is room for the names of fields; change and request are what rules are
	// asked about and by whom, here so that they need no room of their own.
	names   []string
	change  keyspace.Change
	request keyspace.Request
}

// do checks the rights of a command on its keys and does it.
func (x *call) do(spec *command) error {
	if x.c.door.ctx.Err() != nil {
		return domain.Unavailablef("the node goes down") // commands that wait in long pipelines keep it no longer
	}
	if spec.writes {
		if err := x.c.door.cfg.Writable(); err != nil {
			return err
		}
	}
	kept := false
	for i, key := range spec.keys(x.args) {
		if err := checkKey(key); err != nil {
			return err
		}
		class := spec.class
		if spec.second != nil && i > 0 {
			class = *spec.second
		}
		if err := x.allow(key, class); err != nil {
			return err
		}
		keeps, err := x.admit(spec, key, class)
		if err != nil {
			return err
		}
		kept = kept || keeps
	}
	if kept {
		if err := x.d.keep(x.s.ctx, int64(sizeOf(x.args)+storedKey)); err != nil {
			return err
		}
	}
	return spec.run(x)
}

// admit asks whether there is room on the node's disk for what a command is to store, and
// reports whether it counts as what clients keep in the context. What ends what runs needs
// no room, nor what takes something away.
func (x *call) admit(spec *command, key string, class keyspace.Class) (keeps bool, err error) {
	if spec.less || class != keyspace.Write && class != keyspace.Push {
		return false, nil
	}
	kind := keyspace.Of(x.s.space(), key)
	if kind.Takes(class) {
		err = x.c.door.cfg.Intake()
	}
	return kind.Kept(), err
}

// checkKey holds a key to the limits of the board.
func checkKey(key string) error {
	switch {
	case key == "" || len(key) > board.MaxKey:
		return domain.Invalidf("key of %d bytes, want 1 to %d", len(key), board.MaxKey)
	case strings.IndexByte(key, 0) >= 0:
		return domain.Invalidf("key %q has a NUL byte", key)
	}
	return nil
}

// allow checks the right of a class on a key. Where fields have rights of their
// own it is checked with them: see write.
func (x *call) allow(key string, class keyspace.Class) error {
	space := x.s.space()
	kind := keyspace.Of(space, key)
	if class == keyspace.Write && kind.ByField() {
		return nil
	}
	want := kind.Right(class, key, x.c.who.Actor)
	if want.Not != "" {
		if err := x.c.may(x.s.now, space, keyspace.Knowing(space), key, kind.Group); err != nil {
			return err
		}
		return failure("NOPERM " + key + ": " + want.Not)
	}
	return x.c.may(x.s.now, space, want.Verb, key, kind.Group)
}

// write sets fields of a hash, which are loaded, if the client may. It returns
// how many of them are new.
func (x *call) write(l *leaf, fields ...board.Field) (made int, err error) {
	if err := x.check(l, fields, nil); err != nil {
		return 0, err
	}
	return x.s.put(l, fields...), nil
}

// check asks whether the client may set and take away these fields of a hash,
// and whether the rule of its key has anything against it.
func (x *call) check(l *leaf, set []board.Field, unset []string) error {
	kind := keyspace.Of(x.s.space(), l.key)
	x.change = keyspace.Change{Key: l.key, Set: set, Unset: unset}
	verb, err := kind.FieldRight(&x.change)
	if err == nil && verb != "" {
		err = x.c.may(x.s.now, x.s.space(), verb, l.key, kind.Group)
	}
	if err == nil && x.change.Asks() && len(set) > 0 {
		if err = x.c.door.cfg.Intake(); err == nil && x.change.Begins() {
			err = x.c.door.cfg.Room(x.c.door.ctx, domain.TenantID(x.s.space()))
		}
	}
	if err != nil || kind.Put == nil {
		return err
	}
	_, err = x.ask(kind.Put, l)
	return err
}

// ask reads what a rule needs, lets it decide about the change of a record, and has
// the commit bring what it adds.
func (x *call) ask(rule *keyspace.Rule, l *leaf) (out keyspace.Outcome, err error) {
	seen := keyspace.Seen{Fields: l}
	if names := rule.Needs(&x.change); len(names) > 0 { // else there may be something else than a record
		if err := x.s.load(l, names...); err != nil {
			return out, err
		}
		if seen.There, err = x.s.recordThere(l); err != nil {
			return out, err
		}
	}
	if key := rule.Beside(l.key); key != "" {
		beside, err := x.s.as(key, board.KindRecord)
		if err == nil {
			seen.Beside, err = x.s.recordThere(beside)
		}
		if err != nil {
			return out, err
		}
	}
	cfg := &x.c.door.cfg
	x.request = keyspace.Request{Who: x.c.who.Actor, Space: x.s.space(), Now: x.s.now, Tenant: x.tenant,
		NamedCallers: cfg.NamedCallers, ReplyExpiry: cfg.ReplyExpiry}
	if out, err = rule.Decide(&x.request, &x.change, seen); err != nil {
		return out, err
	}
	return out, x.add(l, &out)
}

func (x *call) tenant() (domain.Tenant, error) { return x.c.tenant(x.s.now, x.s.space()) }

// add adds what a rule has decided about a record to the commit.
func (x *call) add(l *leaf, out *keyspace.Outcome) error {
	if out.Reply != nil {
		if err := x.reply(out.Reply); err != nil {
			return err
		}
	}
	for _, name := range out.Guards {
		x.s.pin(l, name)
	}
	if out.Absent != "" {
		x.s.batch.Absent(out.Absent)
	}
	if len(out.Set) > 0 {
		x.s.put(l, out.Set...)
	}
	if len(out.Unset) > 0 {
		x.s.cut(l, out.Unset...)
	}
	if out.Live {
		x.s.batch.Live(l.key, x.s.now)
	}
	switch {
	case out.Alarm == "":
	case out.At.IsZero():
		x.s.batch.ClearAlarm(out.Alarm)
	default:
		x.s.batch.SetAlarm(out.Alarm, out.At)
	}
	return nil
}

// reply pushes a reply, where somebody may wait for it.
func (x *call) reply(r *keyspace.Reply) error {
	l, err := x.s.listOf(r.List)
	if err == errWrongType {
		return nil // nobody waits there for a reply
	}
	if err == nil {
		_, err = x.s.length(l)
	}
	if err != nil {
		return err
	}
	x.s.push(l, true, r.Item)
	x.s.expireAt(l, r.Expires)
	return nil
}

// takeItem pops an item, asking the rule of the list for each; ok is false when
// there is none to be had.
func (x *call) takeItem(key string, left bool) (item string, ok bool, err error) {
	l, err := x.s.listOf(key)
	if err != nil {
		return "", false, err
	}
	kind := keyspace.Of(x.s.space(), key)
	if kind.Take != nil {
		if held, err := x.heldBack(key); held || err != nil {
			return "", false, err
		}
		if err := x.mayTakeFor(key); err != nil {
			return "", false, err
		}
	}
	for {
		item, there, err := x.s.first(l, left)
		if !there || err != nil {
			return "", false, err
		}
		out, err := x.askItem(kind, kind.Take, key, item)
		if err != nil {
			return "", false, err
		}
		if _, _, err := x.s.take(l, left); err != nil {
			return "", false, err
		}
		if !out.Drop {
			return item, true, nil
		}
		if x.s.full() {
			return "", false, errFlush // many were dropped; commit that and go on
		}
	}
}

// offer asks whether the client may push an item.
func (x *call) offer(kind *keyspace.Kind, list, item string) error {
	_, err := x.askItem(kind, kind.Offer(list, item, x.c.who.Actor), list, item)
	return err
}

// askItem asks a rule about the record that an item of a list stands for. Nothing
// is asked where it stands for none.
func (x *call) askItem(kind *keyspace.Kind, rule *keyspace.Rule, list, item string) (out keyspace.Outcome, err error) {
	key := kind.ItemKey(list, item)
	if rule == nil || key == "" {
		return out, nil
	}
	l, err := x.s.as(key, board.KindRecord)
	if err == nil {
		x.change = keyspace.Change{Key: key}
		out, err = x.ask(rule, l)
	}
	if err == errWrongType {
		return keyspace.Outcome{}, nil
	}
	return out, err
}

// mayTakeFor refuses the queue of a runner that is somebody else's.
func (x *call) mayTakeFor(list string) error {
	id, key, ok := keyspace.RunnerOf(list)
	if !ok {
		return nil
	}
	l, err := x.s.as(key, board.KindRecord)
	if err != nil {
		return err
	}
	if err := x.s.load(l, keyspace.RunnerNeeds...); err != nil {
		return err
	}
	there, err := x.s.recordThere(l)
	if err != nil {
		return err
	}
	x.s.pin(l, keyspace.RunnerOwner)
	return keyspace.MayTakeFor(id, x.c.who.Actor, keyspace.Seen{Fields: l, There: there})
}

// heldBack reports whether a ban, or a limit of 0, lets nothing be taken from a
// queue.
func (x *call) heldBack(list string) (bool, error) {
	l, err := x.s.as(board.LimitsKey, board.KindRecord)
	if err != nil {
		return false, err
	}
	limits := keyspace.HeldBack(list)
	if err := x.s.load(l, limits...); err != nil {
		return false, err
	}
	return slices.ContainsFunc(limits, func(name string) bool { return l.Get(name) == "0" }), nil
}
