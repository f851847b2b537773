package resp

import (
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
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
	// names is room for the names of fields.
	names []string
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
	for i, key := range spec.keys(x.args) {
		if err := checkKey(key); err != nil {
			return err
		}
		cl := spec.class
		if spec.second != nil && i > 0 {
			cl = *spec.second
		}
		if err := x.allow(key, cl); err != nil {
			return err
		}
	}
	return spec.run(x)
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
func (x *call) allow(key string, cl class) error {
	space := x.s.space()
	r := rowOf(space, key)
	if cl == writes && r.fields != nil {
		return nil
	}
	want := r.right(cl, key, x.c.who.Actor)
	if want.no != "" {
		known := domain.VerbRead
		if space == 0 {
			known = domain.VerbInspect
		}
		if err := x.c.may(x.s.now, space, known, key, r.group); err != nil {
			return err
		}
		return failure("NOPERM " + key + ": " + want.no)
	}
	return x.c.may(x.s.now, space, want.verb, key, r.group)
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
	r := rowOf(x.s.space(), l.key)
	if r.fields == nil {
		return checkFree(l.key, set, unset)
	}
	c := &change{l: l, set: set, unset: unset}
	if err := x.mayFields(r, c); err != nil || r.put == nil {
		return err
	}
	return r.put(x, c)
}

// checkFree leaves the fields alone that the board keeps itself.
func checkFree(key string, set []board.Field, unset []string) error {
	for _, f := range set {
		if contains(boardFields, f.Name) {
			return errOurField(key, f.Name)
		}
	}
	for _, name := range unset {
		if contains(boardFields, name) {
			return errOurField(key, name)
		}
	}
	return nil
}

func errOurField(key, name string) error {
	return failure("NOPERM " + key + ": field " + clip(name, 64) + " is written by the node alone")
}

// mayFields checks the rights on fields of the layout.
func (x *call) mayFields(r *row, c *change) error {
	worker := false
	check := func(name string) error {
		switch {
		case contains(boardFields, name), contains(r.fields.ours, name):
			return errOurField(c.l.key, name)
		case contains(r.fields.progress, name):
			worker = true
		case r.fields.closed && !contains(r.fields.definition, name):
			return errOurField(c.l.key, name)
		default:
			c.maker = true
		}
		return nil
	}
	for _, f := range c.set {
		if err := check(f.Name); err != nil {
			return err
		}
	}
	for _, name := range c.unset {
		if err := check(name); err != nil {
			return err
		}
	}
	if c.maker { // who may make one may also work on it
		return x.c.may(x.s.now, x.s.space(), r.fields.maker, c.l.key, r.group)
	}
	if worker {
		return x.c.may(x.s.now, x.s.space(), r.fields.worker, c.l.key, r.group)
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// takeItem pops an item, asking the rule of the list for each; ok is false when
// there is none to be had.
func (x *call) takeItem(key string, left bool) (item string, ok bool, err error) {
	l, err := x.s.listOf(key)
	if err != nil {
		return "", false, err
	}
	r := rowOf(x.s.space(), key)
	if r.take != nil {
		if held, err := x.heldBack(key); held || err != nil {
			return "", false, err
		}
	}
	for {
		item, there, err := x.s.first(l, left)
		if !there || err != nil {
			return "", false, err
		}
		keep := true
		if r.take != nil {
			if keep, err = r.take(x, key, item); err != nil {
				return "", false, err
			}
		}
		if _, _, err := x.s.take(l, left); err != nil {
			return "", false, err
		}
		if keep {
			return item, true, nil
		}
		if x.s.full() {
			return "", false, errFlush // many were dropped; commit that and go on
		}
	}
}

// heldBack reports whether a ban, or a limit of 0, lets nothing be taken from a
// queue.
func (x *call) heldBack(list string) (bool, error) {
	l, err := x.s.as(board.LimitsKey, board.KindRecord)
	if err != nil {
		return false, err
	}
	group := "max:" + board.CapGroup(list)
	if err := x.s.load(l, "max", group); err != nil {
		return false, err
	}
	return l.get("max") == "0" || l.get(group) == "0", nil
}

// visible is a field's value as the client may see it.
func (x *call) visible(l *leaf, name, text string) (string, error) {
	hide := rowOf(x.s.space(), l.key).secret[name]
	if hide == nil || text == "" {
		return text, nil
	}
	if sees, err := x.sees(l); sees || err != nil {
		return text, err
	}
	return hide(text), nil
}
