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
	m.live = pending
	for _, v := range r.stack[:r.top] {
		m.add(v)
	}
	for _, fr := range r.frames[:min(r.depth+1, len(r.frames))] {
		for _, v := range fr.old {
			m.add(v)
		}
		for _, x := range fr.extras {
			m.add(*x.v)
		}
	}
	for _, v := range r.held {
		m.add(v)
	}
	for _, s := range append(r.scopes, r.scope) {
		for _, v := range s.vars {
			m.add(*v.v)
		}
	}
	for _, v := range r.root.consts {
		m.add(v)
	}
	for _, module := range r.resolved {
		if module != nil {
			for _, v := range module.vars {
				m.add(v)
			}
		}
	}
	m.add(r.ret)
	if m.live > limit {
		r.ctl, r.err = ctlError, tooMuch(pos)
		return false
	}
	r.charged, r.measureAt = 0, max((limit-m.live)/2, limit/16, 1)
	return true
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
	seen  map[unsafe.Pointer]struct{}
	todo  []Value
	live  int64
	limit int64
}

// add counts v and all that it leads to, each object once. Beyond the limit it
// looks no further.
func (m *scale) add(v Value) {
	m.push(v)
	for len(m.todo) > 0 && m.live <= m.limit {
		v := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if _, known := m.seen[v.Identity()]; known {
			continue
		}
		m.seen[v.Identity()] = struct{}{}
		m.live += shallowSize(v)
		switch v.Kind() {
		case value.ArrayKind:
			for _, x := range v.AsArray().Items {
				m.push(x)
			}
		case value.MapKind:
			entries := v.AsMap()
			for i := range entries.Len() {
				e := entries.At(i)
				m.live += int64(len(e.Key))
				m.push(e.Value)
			}
		case value.FnKind:
			for _, x := range v.AsFn().Curry {
				m.push(x)
			}
		case value.CellKind:
			m.push(v.AsCell().V)
		}
	}
	m.todo = m.todo[:0]
}

// push lists a value that takes memory of its own.
func (m *scale) push(v Value) {
	if shallowSize(v) > 0 {
		m.todo = append(m.todo, v)
	}
}

// shallowSize estimates the bytes of one object without what it leads to.
func shallowSize(v Value) int64 {
	switch v.Kind() {
	case value.StringKind:
		return 64 + int64(len(v.AsString()))
	case value.ArrayKind:
		return 40 + 16*int64(cap(v.AsArray().Items))
	case value.BlobKind:
		return 40 + int64(cap(v.AsBlob().Bytes))
	case value.MapKind:
		return 64 + 64*int64(v.AsMap().Len())
	case value.FnKind:
		return 96 + 16*int64(len(v.AsFn().Curry))
	case value.CellKind, value.RangeKind, value.RangeInclKind, value.TimeKind, value.CustomKind, value.IterKind:
		return 48
	}
	return 0
}
