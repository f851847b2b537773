package rhai

import (
	"unsafe"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file bounds the memory of a run. What is made is charged as it is made;
// when enough has been charged, what is alive is measured. Between two
// measurements a script can make no more garbage than is left of its limit.

// tooMuch is the error for a run that holds more than it may.
func tooMuch(pos Pos) *value.Error {
	return &value.Error{Kind: value.ErrorDataTooLarge, Name: "Memory of the script", Pos: pos}
}

// charge counts bytes that have been used.
func (fr *frame) charge(bytes int, pos Pos) bool {
	r := fr.run
	return r.measureAt == 0 || r.spendMemory(int64(bytes), 0, pos)
}

// chargeValue counts a value that has been made, without what it leads to.
func (fr *frame) chargeValue(v Value, pos Pos) bool {
	return fr.run.measureAt == 0 || fr.run.spendMemory(shallowSize(v), 0, pos)
}

// chargeCopy counts the copy that a change of *p is about to make.
func (fr *frame) chargeCopy(p *Value, pos Pos) bool {
	if fr.run.measureAt == 0 || !p.Shared() {
		return true
	}
	size := shallowSize(*p)
	return fr.run.spendMemory(size, size, pos)
}

// spendMemory counts bytes; pending ones are not yet where a measurement finds them.
func (r *run) spendMemory(bytes, pending int64, pos Pos) bool {
	r.charged += bytes
	if r.charged < r.measureAt && bytes <= r.engine.MaxMemory {
		return true
	}
	return r.measure(pending, pos)
}

// measure adds up what the run's values hold and sets when to look again.
func (r *run) measure(pending int64, pos Pos) bool {
	limit := r.engine.MaxMemory
	m := scale{seen: map[unsafe.Pointer]struct{}{}, limit: limit}
	m.live = pending + r.pieces + r.texts + int64(cap(r.text))
	m.unit(r.root.unit)
	for _, u := range r.evals {
		m.unit(u)
	}
	for _, env := range r.envs {
		m.environ(env)
	}
	for _, v := range r.stack[:r.top] {
		m.root(v)
	}
	for _, fr := range r.frames[:min(r.depth+1, len(r.frames))] {
		for _, v := range fr.old {
			m.root(v)
		}
		m.live += extraBytes * int64(len(fr.extras))
		for _, x := range fr.extras {
			m.root(*x.v)
		}
	}
	for _, v := range r.held {
		m.root(v)
	}
	for _, s := range append(r.scopes, r.scope) {
		for _, v := range s.vars {
			m.root(*v.v)
		}
	}
	for _, v := range r.root.consts {
		m.root(v)
	}
	for _, module := range r.resolved {
		if module != nil {
			for _, v := range module.vars {
				m.root(v)
			}
		}
	}
	m.root(r.ret)
	m.count()
	r.live = m.live
	if m.live > limit {
		r.ctl, r.err = ctlError, tooMuch(pos)
		return false
	}
	r.charged, r.measureAt = 0, max((limit-m.live)/2, limit/16, 1)
	return true
}

// left is what the run may take beside what it holds. 0 says that there is no
// bound; not ok that there is nothing left.
func (r *run) left(pos Pos) (bytes int64, ok bool) {
	if r.measureAt == 0 {
		return 0, true
	}
	if !r.measure(0, pos) {
		return 0, false
	}
	return max(r.engine.MaxMemory-r.live, 1), true
}

// beginMemory sets when to look first at what a run of u holds.
func (r *run) beginMemory(u *unit) {
	if limit := r.engine.MaxMemory; limit > 0 {
		r.measureAt = max((limit-u.prog.Size)/2, limit/16, 1)
	}
}

// pacing keeps the making of a text within the run's limits but for the length
// of strings, which what is printed does not have.
func (r *run) pacing() value.Pace {
	if r.pace == nil {
		r.pace = func(_, room int) bool { return r.Alive(&r.ctx, room/64) && r.Charge(&r.ctx, room) }
	}
	return r.pace
}

// hold remembers a value that only a running node or native function has, so
// that a measurement finds it. Who holds shortens held again; a caught error does too.
func (r *run) hold(v Value) {
	if r.measureAt > 0 {
		r.held = append(r.held, v)
	}
}

// scale adds up values. It keeps a list, not a recursion: values may be nested
// as deep as there is memory.
type scale struct {
	// seen are the objects that more than one place may hold: the roots, which
	// may be borrowed, and what is shared.
	seen  map[unsafe.Pointer]struct{}
	todo  []Value
	live  int64
	limit int64
}

// root lists a value that a place outside of all values holds. All roots are
// listed before anything is counted.
func (m *scale) root(v Value) {
	if shallowSize(v) == 0 {
		return
	}
	if _, known := m.seen[v.Identity()]; !known {
		m.seen[v.Identity()] = struct{}{}
		m.todo = append(m.todo, v)
	}
}

// inside lists a value in another, if it takes memory of its own. Each object
// is listed once, so that the list is no longer than there are objects.
func (m *scale) inside(v Value) {
	if shallowSize(v) == 0 {
		return
	}
	if _, known := m.seen[v.Identity()]; known {
		return
	}
	if v.Shared() {
		m.seen[v.Identity()] = struct{}{}
	}
	m.todo = append(m.todo, v)
}

// count adds up what has been listed and all that it leads to. Beyond the limit
// it looks no further.
func (m *scale) count() {
	for len(m.todo) > 0 && m.live <= m.limit {
		v := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.live += shallowSize(v)
		switch v.Kind() {
		case value.ArrayKind:
			for _, x := range v.AsArray().Items {
				m.inside(x)
			}
		case value.MapKind:
			entries := v.AsMap()
			for i := range entries.Len() {
				e := entries.At(i)
				m.live += int64(len(e.Key))
				m.inside(e.Value)
			}
		case value.FnKind:
			if f, ok := v.AsFn().Def.(*function); ok {
				m.unit(f.unit)
			}
			for _, x := range v.AsFn().Curry {
				m.inside(x)
			}
		case value.CellKind:
			m.inside(v.AsCell().V)
		}
	}
}

// unit counts a script, which lives as long as a closure of it does.
func (m *scale) unit(u *unit) {
	if _, known := m.seen[unsafe.Pointer(u)]; !known {
		m.seen[unsafe.Pointer(u)] = struct{}{}
		m.live += u.prog.Size
	}
}

// environ counts the script of a module, and its constants.
func (m *scale) environ(env *environ) {
	m.unit(env.unit)
	for _, v := range env.consts {
		m.root(v)
	}
}

// shallowSize estimates the bytes of one object without what it leads to.
func shallowSize(v Value) int64 {
	switch v.Kind() {
	case value.StringKind:
		return 80 + int64(v.TextBytes())
	case value.ArrayKind:
		return 40 + 16*int64(cap(v.AsArray().Items))
	case value.BlobKind:
		return 40 + int64(cap(v.AsBlob().Bytes))
	case value.MapKind:
		return int64(v.AsMap().Bytes())
	case value.FnKind:
		return fnBytes + int64(len(v.AsFn().Name)) + slotBytes*int64(len(v.AsFn().Curry))
	case value.IterKind:
		return 64 + int64(v.AsIter().Bytes)
	case value.CellKind, value.RangeKind, value.RangeInclKind, value.TimeKind, value.CustomKind:
		return 48
	}
	if v.Tag() != 0 {
		return 32 // of a number, which is an object only then
	}
	return 0
}

const (
	// extraBytes is what a variable takes that is known by name only.
	extraBytes = 96
	// keyBytes is about what a new key of a map takes, with a short text.
	keyBytes = 128
	// fnBytes is what a function pointer takes without what it carries.
	fnBytes = 96
	// errorBytes is what a caught error takes beside its texts.
	errorBytes = 1 << 10
)

// chargeError counts what a script that catches e makes of it.
func (fr *frame) chargeError(e *value.Error, pos Pos) bool {
	size := 0
	for ; e != nil; e = e.Inner {
		size += errorBytes + 4*len(value.Clip(e.Name))
	}
	return fr.charge(size, pos)
}
