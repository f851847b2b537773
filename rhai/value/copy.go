package value

import "strings"

// Copy gives a value that shares nothing with v that could change, so that
// another goroutine may use it. Function pointers and host objects without
// Clone are the same objects still. What v holds in several places is held in
// several places of the copy.
func Copy(v Value) Value {
	c := copier{seen: map[*header]Value{}}
	out := c.one(v.Flatten())
	// A list of what is left to do instead of recursion: data may be nested
	// deeper than Go's stack reaches.
	for len(c.todo) > 0 {
		last := len(c.todo) - 1
		next := c.todo[last]
		c.todo = c.todo[:last]
		c.inside(next)
	}
	return out
}

type copier struct {
	// seen are the copies of shared objects; others are met once only.
	seen map[*header]Value
	// todo are copies whose parts are still those of the original.
	todo []Value
}

// one copies v but not what is in it.
func (c *copier) one(v Value) Value {
	if v.h == nil || v.h.kind.isScalar() {
		return v
	}
	if done, ok := c.seen[v.h]; ok {
		return Value{done.Keep().h, v.n}
	}
	out := v
	switch v.Kind() {
	case StringKind:
		out = Constant(strings.Clone(v.AsString()))
	case ArrayKind:
		out = NewArray(append([]Value(nil), v.AsArray().Items...))
		c.todo = append(c.todo, out)
	case MapKind:
		m := newMap(v.AsMap().Len())
		for _, e := range v.AsMap().entries {
			m.Set(e.Key, e.Value)
		}
		out = Value{&m.header, 0}
		c.todo = append(c.todo, out)
	case BlobKind:
		out = NewBlob(append([]byte{}, v.AsBlob().Bytes...))
	case FnKind:
		f := *v.AsFn()
		f.Curry = append([]Value(nil), f.Curry...)
		out = Value{&f.header, 0}
		c.todo = append(c.todo, out)
	case CellKind:
		out = NewCell(v.AsCell().V)
		c.todo = append(c.todo, out)
	case CustomKind:
		if x := v.AsCustom(); x.Type.Clone != nil {
			out = NewCustom(x.Type, x.Type.Clone(x.Data))
		}
	}
	if v.h.shared {
		c.seen[v.h] = out
	}
	return Value{out.h, v.n}
}

// inside copies the parts of v.
func (c *copier) inside(v Value) {
	switch v.Kind() {
	case ArrayKind:
		items := v.AsArray().Items
		for i := range items {
			items[i] = c.one(items[i].Flatten())
		}
	case MapKind:
		entries := v.AsMap().entries
		for i := range entries {
			entries[i].Value = c.one(entries[i].Value.Flatten())
		}
	case FnKind:
		curry := v.AsFn().Curry
		for i := range curry {
			curry[i] = c.one(curry[i])
		}
	case CellKind:
		v.AsCell().V = c.one(v.AsCell().V)
	}
}

// Freeze makes v fit to be read by many goroutines at once: all in it counts
// as shared, so that who changes it changes a copy, and what reading would
// work out and remember (the order of keys, the length of texts) is there.
// Host objects without Clone, and variables that closures have captured, can
// be changed still.
func Freeze(v Value) Value {
	v = v.Flatten()
	seen := map[*header]bool{}
	todo := []Value{v}
	for len(todo) > 0 {
		last := len(todo) - 1
		next := todo[last]
		todo = todo[:last]
		if next.h == nil || next.h.kind.isScalar() || seen[next.h] {
			continue
		}
		seen[next.h] = true
		next.Keep()
		switch next.Kind() {
		case StringKind:
			next.Chars()
		case ArrayKind:
			todo = append(todo, next.AsArray().Items...)
		case MapKind:
			for _, e := range next.AsMap().Entries() {
				todo = append(todo, e.Value)
			}
		case FnKind:
			todo = append(todo, next.AsFn().Curry...)
		case CellKind:
			todo = append(todo, next.AsCell().V)
		}
	}
	return v
}
